import { expect, test } from 'vitest';
import { errorBody } from '../../../src/resources/definition/errors.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ADMIN_KEY, heldTransaction, type Reply, startTestApi, untilWaiting } from '../harness.ts';

const unavailable = (reply: Reply) => {
  expect(reply.error).toMatchObject({ error_code: 'UNAVAILABLE', status_code: 503 });
  expect(reply.headers['retry-after']).toBe('1');
};

/** However many were refused. */
const expectOneWarning = (logs: string[], reason: string) => {
  const warnings = logs.filter((line) => line.includes('"level":40'));
  expect(warnings).toEqual([expect.stringContaining(reason)]);
  expect(warnings[0]).not.toContain('stack');
};

const turn = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

test('a request that gets no connection to the database is refused for load, which is no failure of the database', async () => {
  const { admin, db, logs } = await startTestApi({ poolSize: 1, connectTimeoutMs: 1_000 });
  const ask = () => admin.get('/ip_policies');
  const replies = await db.transaction(() => Promise.all(Array.from({ length: 5 }, ask)));
  for (const reply of replies) {
    unavailable(reply);
    expect(reply.error.msg).toContain('connections to the database are in use');
  }
  expect(logs.filter((line) => line.includes('"level":50'))).toEqual([]);
  expectOneWarning(logs, 'in use');
  expect(logs.filter((line) => line.includes('"status":503'))).toHaveLength(5);
  expect((await ask()).status).toBe(200);
});

test('a process that has taken more memory than it may refuses requests', async () => {
  const { admin, anonymous } = await startTestApi({ loadLimits: { rssBytes: 1, sampleMs: 10 } });
  let reply = await admin.post('/ip_policies', {});
  for (; reply.status !== 503; reply = await admin.post('/ip_policies', {})) await turn(5);
  unavailable(reply);
  expect((await anonymous.get('/healthz')).status).toBe(200);
});

test('a request that takes too long is answered, and may still take effect', async () => {
  const api = await startTestApi({ timeouts: { handler: 1_000 } });
  const { id } = (await api.admin.post('/ip_policies', {})).as(ipPolicy.view);
  const held = await heldTransaction(api.databaseUrl);
  await held.query('select 1 from ip_policies where id = $1 for update', [id]);
  // Not injected: whether a body has arrived is known only of a connection.
  const change = fetch(`${await api.app.listen({ port: 0, host: '127.0.0.1' })}/ip_policies/${id}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ description: 'late' }),
  });
  await untilWaiting(api, 1);
  const reply = await change;
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
  expect(errorBody.parse(await reply.json())).toMatchObject({ msg: expect.stringContaining('unknown') });
  await held.commit();
  const description = async () => (await api.admin.get(`/ip_policies/${id}`)).as(ipPolicy.view).description;
  while ((await description()) !== 'late') await turn(5);
  expect(api.logs.filter((line) => line.includes('already sent'))).toEqual([]);
});
