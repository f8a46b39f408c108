import { type AddressInfo, connect, createServer as createRelay } from 'node:net';
import { describe, expect, test } from 'vitest';
import { ApiError, createClient, etagOf } from '../../src/client/client.ts';
import { ADMIN_KEY, startTestApi } from '../api/harness.ts';
import { atEnd } from '../end-of-file.ts';

const api = await startTestApi();
const upstream = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));

/** How many of the next answers are lost on the way, after their requests have arrived. */
let losing = 0;
const relay = createRelay((client) => {
  const server = connect(Number(upstream.port), upstream.hostname);
  server.on('data', (bytes) => {
    if (losing === 0) return void client.write(bytes);
    losing--;
    client.destroy();
    server.destroy();
  });
  client.on('data', (bytes) => server.write(bytes)).on('error', () => server.destroy());
  client.on('close', () => server.destroy());
  server.on('error', () => client.destroy());
});
await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done));
atEnd(() => new Promise((done) => relay.close(done)));

let attempts = 0;
const client = createClient({
  baseUrl: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
  apiKey: ADMIN_KEY,
  onAttempt: () => void attempts++,
});
atEnd(() => client.close());

/** Makes a call whose first answer is lost; returns the result and the number of attempts. */
async function losingOne<T>(call: () => Promise<T>) {
  attempts = 0;
  losing = 1;
  const result = await call().catch((error: unknown) => error);
  expect(losing).toBe(0);
  return { result, attempts };
}

describe('after a lost answer', () => {
  test('a create with an idempotency key is retried, and creates one resource', async () => {
    const create = () => client.ipPolicies.create({ description: 'once' }, { idempotencyKey: 'retries' });
    expect(await losingOne(create)).toMatchObject({ result: { description: 'once' }, attempts: 2 });
    expect(await api.rows("select 1 from ip_policies where description = 'once'")).toHaveLength(1);
  });
});

describe('an ETag', () => {
  test('comes with the result of a call, and protects a change', async () => {
    const made = await client.ipPolicies.create({});
    const changed = await client.ipPolicies.update(made.id, { description: 'a' }, { ifMatch: etagOf(made) });
    expect([etagOf(made), etagOf(changed)]).toEqual(['"1"', '"2"']);
    expect(etagOf(await client.ipPolicies.get(made.id))).toBe('"2"');
    const late = client.ipPolicies.update(made.id, { description: 'b' }, { ifMatch: etagOf(made) });
    await expect(late).rejects.toBeInstanceOf(ApiError);
    await expect(late).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  });

  test('comes with modules as well, but not with copies', async () => {
    const edge = await client.tlsEdges.create({});
    const { id } = await client.ipPolicies.create({});
    const put = await client.tlsEdgeModules(edge.id).ipRestriction.put({ ip_policy_ids: [id] });
    expect(etagOf(put)).toBe('"2"');
    expect(etagOf({ ...put })).toBeUndefined();
  });
});
