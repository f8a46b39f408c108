/** Many requests at once: on one connection, and of those who have no key. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { inLine, type PipeliningLimits } from '../../../src/api/http/pipelining.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { type Caller, heldTransaction, startTestApi, type TestApi } from '../harness.ts';

/** More than any number of requests at once in these tests, and its shares are larger than what a connection may have. */
const api = await startTestApi({ poolSize: 40 });
/** As it is without settings. */
const usual = await startTestApi({ poolSize: 20 });
const address = new URL(await api.app.listen({ port: 0, host: '127.0.0.1' }));

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Peer {
  socket: Socket;
  received(): string;
}

function send(bytes: string, at = address): Peer {
  let received = '';
  const socket = connect(Number(at.port), at.hostname, () => socket.write(bytes));
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

/** Where requests come to `handle` in line. */
async function listen(handle: RequestListener, limits: PipeliningLimits): Promise<URL> {
  const server = createServer(inLine(handle, limits, { warn: () => undefined })).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('not listening on a port');
  return new URL(`http://127.0.0.1:${bound.port}`);
}

/** How many statements of the API wait for a lock. */
async function waiting({ rows }: Pick<TestApi, 'rows'> = api): Promise<number> {
  const text = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const [row] = await rows(text);
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
  // The others are not so much as begun.
  await vi.waitFor(() => expect(aborted()).toHaveLength(8), { timeout: 10_000 });
  await held.commit();
  await until(waiting, 0);
  expect(aborted()).toHaveLength(8);
});

test('requests before one that is not HTTP any more (CONNECT) end with the connection', async () => {
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table ip_policies');
  const bot = await api.newBot();
  const { socket } = send(request('GET /ip_policies', bot) + request('GET /bot_users', bot).repeat(7));
  await until(waiting, 1);
  const bytes = async () => /^http_in_flight_bytes (\d+)$/m.exec((await api.anonymous.get('/metrics')).text)?.[1];
  await vi.waitFor(async () => expect(Number(await bytes())).toBeGreaterThan(0), { timeout: 10_000 });
  socket.write('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n');
  await once(socket, 'close');
  await held.commit();
  await vi.waitFor(async () => expect(await bytes()).toBe('0'), { timeout: 10_000 });
});

test('requests that wait go on when a connection before them in line is closed', async () => {
  const answers: ServerResponse[] = [];
  const late = new Set<Socket>();
  const handle = (incoming: IncomingMessage, answer: ServerResponse) => {
    if (incoming.url === '/first') return answers.push(answer);
    // After two turns of eight, the seventeenth is the next.
    if (late.size === 0) answers[16]?.req.socket.destroy();
    late.add(incoming.socket);
    answer.end();
  };
  const at = await listen(handle, { atOnce: 1, waiting: 24, waitingInAll: 100 });
  const both = request('GET /first', { key: '' }) + request('GET /second', { key: '' });
  for (let n = 0; n < 20; n++) send(both, at);
  await vi.waitFor(() => expect(answers).toHaveLength(20), { timeout: 10_000 });
  for (const answer of answers) answer.end();
  await vi.waitFor(() => expect(late.size).toBe(19), { timeout: 10_000 });
});

test('when more wait than may in all, the connection with most of them is cut, not the one that came last', async () => {
  const answers: ServerResponse[] = [];
  let late = false;
  const handle = (_: IncomingMessage, answer: ServerResponse) => (late ? answer.end() : answers.push(answer));
  const at = await listen(handle, { atOnce: 1, waiting: 24, waitingInAll: 30 });
  const of = (count: number) => send(request('GET /', { key: '' }).repeat(count), at);
  const begun = (count: number) => vi.waitFor(() => expect(answers).toHaveLength(count), { timeout: 10_000 });
  // 8 and 20 wait.
  const some = of(9);
  await begun(1);
  const most = of(21);
  await begun(2);
  const few = of(4);
  await vi.waitFor(() => expect(most.socket.destroyed).toBe(true), { timeout: 10_000 });
  // 8, 3 and 19 wait; the next one makes this the longest.
  const others = of(20);
  await begun(4);
  others.socket.write(request('GET /', { key: '' }));
  await vi.waitFor(() => expect(others.socket.destroyed).toBe(true), { timeout: 10_000 });
  late = true;
  for (const answer of answers) answer.end();
  const answered = ({ received }: Peer) => received().match(/HTTP\/1.1 200/g) ?? [];
  await vi.waitFor(() => expect(answered(some)).toHaveLength(9), { timeout: 10_000 });
  await vi.waitFor(() => expect(answered(few)).toHaveLength(4), { timeout: 10_000 });
});

test('of one key, or of one address with unknown ones, a fifth of the pool is looked up at once', async () => {
  const bot = await api.newBot();
  expect((await bot.get('/ip_policies')).status).toBe(200);
  const held = await heldTransaction(api.databaseUrl);
  await held.query('lock table api_keys');
  const known = Array.from({ length: 12 }, () => bot.get('/ip_policies'));
  const unknown = Array.from({ length: 12 }, (_, n) => api.withKey('', `guess-${n}`).get('/ip_policies'));
  await until(waiting, 16);
  // Whoever came later has been answered.
  expect((await api.anonymous.get('/readyz')).status).toBe(200);
  expect(await waiting()).toBe(16);
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

describe('of the pool', () => {
  const inUse = () => waiting(usual);
  const many = (caller: Pick<Caller, 'get'>, count: number) =>
    Array.from({ length: count }, () => caller.get('/ip_policies'));

  /** Every request that reads policies waits, with its connection. */
  async function holdPolicies() {
    const held = await heldTransaction(usual.databaseUrl);
    await held.query('lock table ip_policies');
    return held;
  }

  test('one key uses half at once, however many requests it has, and all are answered', async () => {
    const bot = await usual.newBot();
    const held = await holdPolicies();
    const requests = many(bot, 40);
    await until(inUse, 10);
    // Whoever came later has been answered.
    expect((await usual.admin.get('/reserved_domains')).status).toBe(200);
    expect(await inUse()).toBe(10);
    await held.commit();
    for (const { status } of await Promise.all(requests)) expect(status).toBe(200);
  });

  test('all keys of an owner use three quarters at once', async () => {
    const bot = await usual.newBot();
    const keys = [bot, await usual.newKey(bot.id), await usual.newKey(bot.id)];
    const held = await holdPolicies();
    const requests = keys.flatMap((key) => many(key, 20));
    await until(inUse, 15);
    expect((await usual.admin.get('/reserved_domains')).status).toBe(200);
    expect(await inUse()).toBe(15);
    await held.commit();
    for (const { status } of await Promise.all(requests)) expect(status).toBe(200);
  });

  test('lookups of unknown keys use two fifths at once, from however many addresses', async () => {
    expect((await usual.admin.get('/ip_policies')).status).toBe(200);
    const held = await heldTransaction(usual.databaseUrl);
    await held.query('lock table api_keys');
    const requests = Array.from({ length: 40 }, (_, n) =>
      usual.app.inject({
        url: '/ip_policies',
        headers: { authorization: `Bearer x${n}` },
        remoteAddress: `192.0.2.${n}`,
      }),
    );
    await until(inUse, 8);
    const known = usual.admin.get('/ip_policies');
    await until(inUse, 9);
    await held.commit();
    expect((await known).status).toBe(200);
    for (const { statusCode } of await Promise.all(requests)) expect(statusCode).toBe(401);
  });

  test('whoever has a thousand requests waiting is refused more', async () => {
    const bot = await usual.newBot();
    // Seen before, so that all of them are looked up in one line.
    expect((await bot.get('/ip_policies')).status).toBe(200);
    const held = await holdPolicies();
    const requests = many(bot, 505);
    await until(inUse, 10);
    // Not all in one go: those whose key is being looked up have a line of their own.
    requests.push(...many(bot, 506));
    // The last ones may overtake each other where their key is looked up.
    const refused = await Promise.race(requests);
    expect(refused.error).toMatchObject({ error_code: 'RATE_LIMITED', msg: expect.stringContaining('at once') });
    expect(refused.headers['retry-after']).toBe('1');
    expect((await usual.admin.get('/reserved_domains')).status).toBe(200);
    await held.commit();
    const answers = await Promise.all(requests);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1010);
  });
});

describe('of requests that wait on their connection', () => {
  /** Answers to what was sent before the end of the connection. */
  const ended = (peer: Peer) => vi.waitFor(() => expect(peer.socket.destroyed).toBe(true), { timeout: 10_000 });

  test.each([
    ['more than a connection may have', { waiting: 10, waitingInAll: 1000 }, 1],
    ['more than all may have', { waiting: 1000, waitingInAll: 30 }, 4],
  ])('%s cost it the connection, and the log says so once', async (_, pipelining, connections) => {
    const strict = await startTestApi({ pipelining });
    const at = new URL(await strict.app.listen({ port: 0, host: '127.0.0.1' }));
    const held = await heldTransaction(strict.databaseUrl);
    await held.query('lock table api_keys');
    const few = send(request('GET /ip_policies', strict.admin).repeat(9), at);
    const many = Array.from({ length: connections }, () =>
      send(request('GET /ip_policies', strict.admin).repeat(100), at),
    );
    await Promise.race(many.map(ended));
    expect(few.socket.destroyed).toBe(false);
    const lines = () => strict.logs.filter((line) => line.includes('cutting connections: too many requests'));
    expect(lines()).toHaveLength(1);
    // Of those that came together, only the first was begun.
    const aborted = strict.logs.filter((line) => line.includes('"aborted":true'));
    expect(aborted.length).toBeGreaterThan(0);
    expect(aborted.length).toBeLessThanOrEqual(8 * connections);
    await held.commit();
    await vi.waitFor(() => expect(few.received().match(/HTTP\/1.1 200/g)).toHaveLength(9), { timeout: 10_000 });
  });

  test('what came with them on a connection that is cut is not so much as parsed', async () => {
    const strict = await startTestApi({ pipelining: { waiting: 2, waitingInAll: 1000 } });
    const at = new URL(await strict.app.listen({ port: 0, host: '127.0.0.1' }));
    let parsed = 0;
    strict.app.server.on('request', () => parsed++);
    const peers = Array.from({ length: 5 }, () => send('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(1500), at));
    await Promise.all(peers.map(ended));
    // Eight at once, two that wait, and the one for which the connection is cut.
    expect(parsed).toBeGreaterThan(0);
    expect(parsed).toBeLessThanOrEqual(11 * peers.length);
  });
});
