import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
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

/** Keeps the event loop from turning, as a long computation would. */
const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const turn = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

test('a process that cannot keep up refuses requests, but not probes, until it can', async () => {
  const { admin, anonymous, logs } = await startTestApi({ loadLimits: { eventLoopDelayMs: 100, sampleMs: 200 } });
  let reply = await admin.get('/ip_policies');
  for (; reply.status !== 503; reply = await admin.get('/ip_policies')) {
    block(250);
    await turn(1);
  }
  unavailable(reply);
  for (const path of ['/healthz', '/readyz', '/metrics']) expect((await anonymous.get(path)).status, path).toBe(200);
  const { text } = await anonymous.get('/metrics');
  expect(text).toMatch(/request_duration_seconds_count\{method="GET",route="\/ip_policies",status_code="503"\} 1/);
  expect(text).toMatch(/^http_requests_refused_total [1-9]/m);
  expect(logs.filter((line) => line.includes('"level":50'))).toEqual([]);
  expectOneWarning(logs, 'overloaded');
  while ((await admin.get('/ip_policies')).status !== 200) await turn(10);
});

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

test('a process without a descriptor to read its memory with lives on', async () => {
  // Takes all descriptors, waits for two samples that fail, and says so.
  const script = `
    import { openSync } from 'node:fs';
    import Fastify from 'fastify';
    import { shedLoad } from ${JSON.stringify(new URL('../../../src/api/guard/load-shedding.ts', import.meta.url).href)};
    const app = Fastify();
    shedLoad(app, { eventLoopDelayMs: 60_000, rssBytes: 1e12, sampleMs: 50 });
    app.get('/', () => 'served');
    await app.inject('/');
    const read = process.memoryUsage.rss;
    let failed = 0;
    process.memoryUsage.rss = () => {
      try { return read(); } catch (error) { if (error.code === 'EMFILE') failed++; throw error; }
    };
    try { for (;;) openSync('/dev/null'); } catch {}
    while (failed < 2) await new Promise((wake) => setTimeout(wake, 5));
    console.log((await app.inject('/')).body);`;
  const { stdout } = await promisify(execFile)('/bin/sh', [
    ...['-c', 'ulimit -n 100; exec "$0" --input-type=module -e "$1"', process.execPath, script],
  ]);
  expect(stdout).toBe('served\n');
});
