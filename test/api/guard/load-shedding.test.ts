import { expect, test } from 'vitest';
import { type Reply, startTestApi } from '../harness.ts';

const unavailable = (reply: Reply) => {
  expect(reply.error).toMatchObject({ error_code: 'UNAVAILABLE', status_code: 503 });
  expect(reply.headers['retry-after']).toBe('1');
};

/** There is one warning, however many requests were refused. */
const expectOneWarning = (logs: string[], reason: string) => {
  const warnings = logs.filter((line) => line.includes('"level":40'));
  expect(warnings).toEqual([expect.stringContaining(reason)]);
  expect(warnings[0]).not.toContain('stack');
};

const turn = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

test('a request that gets no database connection is refused for load, not as a failure of the database', async () => {
  const { admin, anonymous, db, logs } = await startTestApi({ poolSize: 1, connectTimeoutMs: 1_000 });
  const ask = () => admin.get('/ip_policies');
  const replies = await db.transaction(() => Promise.all(Array.from({ length: 5 }, ask)));
  for (const reply of replies) {
    unavailable(reply);
    expect(reply.error.msg).toContain('connections to the database are in use');
  }
  expect(logs.filter((line) => line.includes('"level":50'))).toEqual([]);
  expectOneWarning(logs, 'in use');
  expect(logs.filter((line) => line.includes('"status":503'))).toHaveLength(5);
  expect((await anonymous.get('/metrics')).text).toMatch(/^tunnel_api_http_requests_refused_total 5$/m);
  expect((await ask()).status).toBe(200);
});

test('a process above its memory limit refuses requests', async () => {
  const { admin, anonymous } = await startTestApi({ loadLimits: { rssBytes: 1, sampleMs: 10 } });
  let reply = await admin.post('/ip_policies', {});
  for (; reply.status !== 503; reply = await admin.post('/ip_policies', {})) await turn(5);
  unavailable(reply);
  expect((await anonymous.get('/healthz')).status).toBe(200);
});
