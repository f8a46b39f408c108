import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { FIRST_ACCOUNT } from '../../../src/resources/account.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import { httpResponseBackend } from '../../../src/resources/http-response-backend.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { type Caller, startTestApi } from '../harness.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** More than the kernel buffers of a response that nobody reads. */
const LIMIT = 8 * MIB;

const api = await startTestApi({
  bytesInFlight: { perKey: LIMIT, perOwner: 2 * LIMIT, inAll: 4 * LIMIT },
  timeouts: { request: 0, connection: 0 },
  bodyLimit: 4 * MIB,
});
const address = new URL(await api.app.listen({ port: 0, host: '127.0.0.1' }));

const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await vi.waitFor(async () => expect(await inFlight()).toBe(0), { timeout: 10_000 });
});

/** Sends these bytes, and reads nothing. */
function send(bytes: string, to = address): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(Number(to.port), to.hostname, () => {
      socket.pause();
      socket.write(bytes, () => resolve(socket));
    });
    socket.on('error', () => undefined);
    sockets.push(socket);
  });
}

const upload = ({ key }: Caller, ...headers: string[]) =>
  [
    'POST /ip_policies HTTP/1.1',
    'host: a',
    `authorization: Bearer ${key}`,
    'content-type: application/json',
    ...headers,
    '',
    '',
  ].join('\r\n');

/** An upload that stalls one byte before its end. */
const stalled = (who: Caller, size = 2 * MIB) =>
  send(`${upload(who, `content-length: ${size}`)}${'x'.repeat(size - 1)}`);

async function inFlight(): Promise<number> {
  const { text } = await api.anonymous.get('/metrics');
  // The response with the metrics does not count yet when this is measured.
  return Number(/^tunnel_api_http_in_flight_bytes (\d+)$/m.exec(text)?.[1]);
}

const untilInFlight = (bytes: number) =>
  vi.waitFor(async () => expect(await inFlight()).toBeGreaterThanOrEqual(bytes), { timeout: 20_000 });

test('a key at its limit is refused, which does not affect other keys, not even of the same owner', async () => {
  const [one, other] = [await api.newBot(), await api.newBot()];
  const second = await api.newKey(one.id);
  for (let n = 0; n < 4; n++) await stalled(one);
  await untilInFlight(LIMIT - 2 * MIB);
  const refused = await one.get('/ip_policies');
  expect(refused.error).toMatchObject({ error_code: 'RATE_LIMITED', msg: expect.stringContaining('in flight') });
  expect(refused.headers['retry-after']).toBe('1');
  for (const caller of [second, other]) expect((await caller.get('/ip_policies')).status).toBe(200);
});

test('more keys do not let an owner hold more', async () => {
  const one = await api.newBot();
  const keys = [one, await api.newKey(one.id), await api.newKey(one.id)];
  for (const key of keys) for (let n = 0; n < 3; n++) await stalled(key);
  await untilInFlight(2 * LIMIT - 2 * MIB);
  for (const key of keys) expect((await key.get('/ip_policies')).status).toBe(429);
  expect((await (await api.newBot()).get('/ip_policies')).status).toBe(200);
});

test('beyond the limit for all, only a caller that holds nothing is served until there is room', async () => {
  // One upload per owner: the only request of an owner is never beyond its share.
  const [idle, ...bots] = [await api.newBot(), ...(await Promise.all(Array.from({ length: 20 }, () => api.newBot())))];
  await stalled(api.admin);
  await untilInFlight(MIB);
  for (const bot of bots) await stalled(bot);
  await untilInFlight(4 * LIMIT);
  const refused = await api.admin.get('/ip_policies');
  expect(refused.error).toMatchObject({ error_code: 'UNAVAILABLE', status_code: 503 });
  expect(refused.headers['retry-after']).toBe('1');
  expect((await idle.get('/ip_policies')).status).toBe(200);
  for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json'])
    expect((await api.anonymous.get(path)).status, path).toBe(200);
  for (const socket of sockets.splice(0)) socket.destroy();
  await vi.waitFor(async () => expect((await api.admin.get('/ip_policies')).status).toBe(200), { timeout: 10_000 });
});

/** Waits for the first response on a connection that reads. */
const answerTo = (bytes: string) =>
  new Promise<string>((resolve) => {
    const socket = connect(Number(address.port), address.hostname, () => socket.write(bytes));
    sockets.push(socket);
    socket.on('error', () => undefined).once('data', (part) => resolve(String(part)));
  });

test.each([
  ['POST /nothing', 404],
  ['PUT /ip_policies', 405],
  ['PATCH /credentials/authenticate', 405],
  ['POST /metrics', 405],
  ['POST /ip_policies', 401],
])('%s without a key is answered before its body has arrived, and holds nothing', async (line, status) => {
  const start = upload(api.anonymous, `content-length: ${2 * MIB}`).replace('POST /ip_policies', line);
  const answers = await Promise.all(Array.from({ length: 20 }, () => answerTo(`${start}${'x'.repeat(MIB)}`)));
  for (const answer of answers) expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(await inFlight()).toBeLessThan(KIB);
});

test('responses that nobody reads are held up to the limit; then requests by that key are refused', async () => {
  const bot = await api.newBot();
  const body = '\u0001'.repeat(64 * KIB);
  const list = '/backends/http_response';
  const backend = (await bot.post(list, { body })).as(httpResponseBackend.view);
  for (let n = 0; n < 4; n++) await bot.post(list, { body });
  const path = `${list}/${backend.id}`;
  const get = `GET ${list} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${bot.key}\r\n\r\n`;
  // Pipelined: the kernel buffers part of the responses, and the process as much as the limit allows.
  for (let n = 0; n < 40; n++) await send(get.repeat(8));
  await vi.waitFor(async () => expect((await bot.get(path)).status).toBe(429), { timeout: 30_000 });
  expect(await inFlight()).toBeLessThan(LIMIT + MIB);
  expect((await api.admin.get(path)).as(httpResponseBackend.view).body).toBe(body);
});

describe('the rules of a policy, which are far longer as JSON than as stored', () => {
  const READ = 'ip_policy_rules.by_ip_policy_id';
  const make = async (rules: number) => {
    const { id } = (await api.admin.post('/ip_policies', {})).as(ipPolicy.view);
    const ids = Array.from({ length: rules }, () => newId('ipr'));
    await api.rows(
      `insert into ip_policy_rules (id, ip_policy_id, cidr, action, metadata, created_at, updated_at)
       select id, $1, '10.0.' || n || '.0/24', 'allow', repeat(chr(1), 4096), now(), now()
         from unnest($2::text[]) with ordinality as made (id, n)`,
      [id, ids],
    );
    return `/ip_policies/${id}/rules`;
  };

  test('are not read while the caller has too little room for them', async () => {
    const bot = await api.newBot();
    const path = await make(200);
    await stalled(bot, 4 * MIB);
    await untilInFlight(4 * MIB - KIB);
    const db = api.db.within(FIRST_ACCOUNT);
    vi.spyOn(api.db, 'within').mockReturnValue(db);
    const query = vi.spyOn(db, 'query');
    const read = () => query.mock.calls.filter(([{ name }]) => name === READ).length;
    const refused = await bot.get(path);
    expect([refused.status, read()]).toEqual([429, 0]);
    const shown = await api.admin.get(path);
    expect([shown.status, read()]).toEqual([200, 1]);
    expect(shown.text.length).toBeGreaterThan(4 * MIB);
    const { transaction } = db;
    const inTransactions: (string | undefined)[] = [];
    const transactions = vi.spyOn(db, 'transaction').mockImplementation((work) =>
      transaction((tx) =>
        work({
          query(statement) {
            inTransactions.push(statement.name);
            return tx.query(statement);
          },
        }),
      ),
    );
    expect((await bot.put(path, { rules: [] })).status).toBe(429);
    query.mockRestore();
    // Deleting them does not read their texts.
    expect((await bot.delete(path.replace('/rules', ''))).status).toBe(204);
    expect(inTransactions).toContain('ip_policies.lock_to_remove');
    expect(inTransactions).not.toContain(READ);
    transactions.mockRestore();
  });
});

test('a response larger than the limit is sent if it is the only one', async () => {
  const small = await startTestApi({ bytesInFlight: { perKey: 100 * KIB } });
  const body = 'x'.repeat(60 * KIB);
  for (let n = 0; n < 3; n++) await small.admin.post('/backends/http_response', { body });
  const list = await small.admin.get('/backends/http_response');
  expect(list.status).toBe(200);
  expect(list.text.length).toBeGreaterThan(100 * KIB);
});
