/** Many requests at once: on one connection, and of those who have no key. */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { type Caller, heldTransaction, startTestApi } from '../harness.ts';

const api = await startTestApi({ poolSize: 30 });
const address = new URL(await api.app.listen({ port: 0, host: '127.0.0.1' }));

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Peer {
  socket: Socket;
  received(): string;
}

function send(bytes: string): Peer {
  let received = '';
  const socket = connect(Number(address.port), address.hostname, () => socket.write(bytes));
  socket
    .on('error', () => undefined)
    .on('data', (part) => {
      received += String(part);
    });
  sockets.push(socket);
  return { socket, received: () => received };
}

const request = (line: string, { key }: Pick<Caller, 'key'>) =>
  `${line} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n\r\n`;

/** How many statements of the API wait for a lock. */
async function waiting(): Promise<number> {
  const text = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const [row] = await api.rows(text);
  return Number(row?.count);
}

const until = (count: () => Promise<number>, expected: number) =>
  vi.waitFor(async () => expect(await count()).toBe(expected), { timeout: 10_000 });

test('of one connection, eight requests are handled at once, and all in their order', async () => {
  const { id } = (await api.admin.post('/ip_policies', {})).as(ipPolicy.view);
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table ip_policies');
  const { received } = send(
    Array.from({ length: 20 }, (_, n) => request(`GET /ip_policies/${n % 2 === 0 ? id : 'none'}`, api.admin)).join(''),
  );
  // Every second one is answered without that table, but has no turn yet.
  await until(waiting, 4);
  // Whoever came later has been answered.
  expect((await api.anonymous.get('/readyz')).status).toBe(200);
  expect(await waiting()).toBe(4);
  await held.commit();
  const statuses = () => [...received().matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status);
  await vi.waitFor(() => expect(statuses()).toHaveLength(20), { timeout: 10_000 });
  expect(statuses()).toEqual(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? '200' : '404')));
});

test('requests that wait on a connection that is closed end with it', async () => {
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table ip_policies');
  const bot = await api.newBot();
  const { socket } = send(request('GET /ip_policies', bot).repeat(20));
  await until(waiting, 8);
  socket.resetAndDestroy();
  const line = z.looseObject({ aborted: z.boolean().default(false), route: z.string().optional() });
  const aborted = () => api.logs.map((text) => line.parse(JSON.parse(text))).filter((each) => each.aborted);
  await vi.waitFor(() => expect(aborted()).toHaveLength(20), { timeout: 10_000 });
  await held.commit();
  await until(waiting, 0);
  expect(aborted()).toHaveLength(20);
});

test('of one key, or of one address with unknown ones, four are looked up at once', async () => {
  const bot = await api.newBot();
  expect((await bot.get('/ip_policies')).status).toBe(200);
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table api_keys');
  const known = Array.from({ length: 12 }, () => bot.get('/ip_policies'));
  const unknown = Array.from({ length: 12 }, (_, n) => api.withKey('', `guess-${n}`).get('/ip_policies'));
  await until(waiting, 8);
  // Whoever came later has been answered.
  expect((await api.anonymous.get('/readyz')).status).toBe(200);
  expect(await waiting()).toBe(8);
  await held.commit();
  for (const { status } of await Promise.all(known)) expect(status).toBe(200);
  for (const { status } of await Promise.all(unknown)) expect(status).toBe(401);
});

test('probes that wait at the same time ask the database once', async () => {
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table schema_migrations');
  const probes = Array.from({ length: 20 }, () => api.anonymous.get('/readyz'));
  await until(waiting, 1);
  // Whoever came later has been answered.
  expect((await api.admin.get('/ip_policies')).status).toBe(200);
  expect(await waiting()).toBe(1);
  await held.commit();
  for (const probe of await Promise.all(probes)) expect(probe.status).toBe(200);
  expect((await api.anonymous.get('/readyz')).status).toBe(200);
});
