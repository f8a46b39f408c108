import { connect, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { ADMIN_KEY, heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

/** With so few, the requests of one key are handled one at a time. */
const CONNECTIONS = 2;

const api = await startTestApi({ poolSize: CONNECTIONS });
const address = new URL(await api.app.listen({ port: 0, host: '127.0.0.1' }));

const line = z.looseObject({ level: z.number(), request_id: z.string().optional() });
const logged = (id: string, { logs } = api) =>
  logs.map((text) => line.parse(JSON.parse(text))).filter(({ request_id }) => request_id === id);

/** The counter of aborted requests of a route; 0 before the first. */
async function aborted(method: string, route: string): Promise<number> {
  const { text } = await api.anonymous.get('/metrics');
  const start = `tunnel_api_http_requests_aborted_total{method="${method}",route="${route}"} `;
  return Number(
    text
      .split('\n')
      .find((each) => each.startsWith(start))
      ?.slice(start.length) ?? 0,
  );
}

/** The bytes of bodies that have arrived so far, and of responses in the making. */
async function inFlight(): Promise<number> {
  const { text } = await api.anonymous.get('/metrics');
  return Number(/^tunnel_api_http_in_flight_bytes (\d+)$/m.exec(text)?.[1]);
}

function open(to = address): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(Number(to.port), to.hostname, () => resolve(socket));
    socket.on('error', () => undefined);
  });
}

const head = (request: string, id: string, ...more: string[]) =>
  [`${request} HTTP/1.1`, 'host: a', `authorization: Bearer ${ADMIN_KEY}`, `x-request-id: ${id}`, ...more, '', ''].join(
    '\r\n',
  );

async function expectAborted(id: string, method: string, route: string, before: number): Promise<void> {
  await vi.waitFor(() => expect(logged(id)).not.toEqual([]), { timeout: 10_000 });
  expect(logged(id)).toMatchObject([{ level: 30, msg: 'request', method, route, status: 499, aborted: true }]);
  expect(await aborted(method, route)).toBe(before + 1);
}

test.each([
  ['a probe', 'GET /readyz', ADMIN_KEY],
  ['a stranger', 'GET /ip_policies', 'nobody'],
])('%s that disconnects is logged at debug level, since anyone could fill the log', async (who, what, key) => {
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table schema_migrations, api_keys');
  const id = who.replace(' ', '-');
  const socket = await open();
  socket.write(head(what, id).replace(ADMIN_KEY, key));
  await untilWaiting(api, 1);
  socket.resetAndDestroy();
  await vi.waitFor(() => expect(logged(id)).not.toEqual([]), { timeout: 10_000 });
  expect(logged(id)).toMatchObject([{ level: 20, status: 499, aborted: true }]);
  await held.commit();
});

test('a client that disconnects in the middle of its body leaves one log line', async () => {
  const before = await aborted('POST', '/ip_policies');
  const unreadable = () => api.logs.filter((text) => text.includes('unreadable request'));
  const had = unreadable().length;
  const socket = await open();
  const type = 'content-type: application/json';
  socket.write(`${head('POST /ip_policies', 'upload-2', type, 'content-length: 900')}{"desc`);
  await vi.waitFor(async () => expect(await inFlight()).toBeGreaterThan(0));
  socket.destroy();
  await expectAborted('upload-2', 'POST', '/ip_policies', before);
  expect(unreadable()).toHaveLength(had);
});

test('a client that disconnects while its request is handled leaves one access line', async () => {
  const { id } = (await api.admin.post('/ip_policies', {})).as(ipPolicy.view);
  const before = await aborted('DELETE', '/ip_policies/{id}');
  const held = await heldTransaction(api.databaseUrl);
  await held.query('select 1 from ip_policies where id = $1 for update', [id]);
  const socket = await open();
  socket.write(head(`DELETE /ip_policies/${id}`, 'handled-1'));
  await untilWaiting(api, 1);
  socket.resetAndDestroy();
  await expectAborted('handled-1', 'DELETE', '/ip_policies/{id}', before);
  await held.commit();
  // The request still takes effect.
  await vi.waitFor(async () => expect((await api.admin.get(`/ip_policies/${id}`)).status).toBe(404));
  expect(logged('handled-1')).toHaveLength(1);
});

test('a request whose client disconnects while it is queued does not take effect', async () => {
  const { id } = (await api.admin.post('/ip_policies', {})).as(ipPolicy.view);
  const before = await aborted('POST', '/ip_policies');
  const held = await heldTransaction(api.databaseUrl);
  await held.query('select 1 from ip_policies where id = $1 for update', [id]);
  const first = api.admin.delete(`/ip_policies/${id}`);
  await untilWaiting(api, 1);
  const socket = await open();
  const length = 50_000;
  const type = 'content-type: application/json';
  socket.write(head('POST /ip_policies', 'turn-1', type, `content-length: ${length}`) + '{}'.padEnd(length));
  await vi.waitFor(async () => expect(await inFlight()).toBeGreaterThanOrEqual(length));
  socket.resetAndDestroy();
  await expectAborted('turn-1', 'POST', '/ip_policies', before);
  const policies = () => api.rows('select id from ip_policies where id <> $1', [id]);
  const stored = await policies();
  await held.commit();
  await first;
  // This request is queued behind the aborted one, whose turn is over when it returns.
  await api.admin.get('/ip_policies');
  expect(await policies()).toEqual(stored);
  expect(logged('turn-1')).toHaveLength(1);
});

test('a request whose client disconnects while its key is looked up does not take effect', async () => {
  const { id } = (await api.admin.post('/ip_policies', {})).as(ipPolicy.view);
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table api_keys');
  const socket = await open();
  socket.write(head(`DELETE /ip_policies/${id}`, 'looked-up-1'));
  await untilWaiting(api, 1);
  socket.resetAndDestroy();
  await vi.waitFor(() => expect(logged('looked-up-1')).toMatchObject([{ status: 499 }]), { timeout: 10_000 });
  await held.commit();
  // This request is queued behind the aborted one.
  expect((await api.admin.get(`/ip_policies/${id}`)).status).toBe(200);
});
