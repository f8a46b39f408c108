/** Who gets a place, who is told that there is none, and for how long; without a network. */
import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Fastify from 'fastify';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type ConnectionLimits,
  limitConnections,
  logAcceptErrors,
  refuseSurplus,
} from '../../../src/api/http/connections.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const [A, B, C] = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];

/** Nobody gives up a place, unless the test says so. */
const LIMITS: ConnectionLimits = {
  most: 100,
  perAddress: 0,
  surplus: 100,
  surplusPerAddress: 100,
  firstByteMs: 1_000_000,
  surplusMs: 1_000_000,
  restMs: Number.POSITIVE_INFINITY,
  slowMs: Number.POSITIVE_INFINITY,
};

function start(limits: Partial<ConnectionLimits>, proxies: string[] = []) {
  // Node's own listener would read from them.
  const server = createServer().removeAllListeners('connection');
  const logged: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  const connections = limitConnections({ server, log }, { ...LIMITS, ...limits }, proxies);
  const open = (remoteAddress: string, bytesRead = 0) => {
    const socket = new Socket();
    Object.defineProperties(socket, { remoteAddress: { value: remoteAddress }, bytesRead: { value: bytesRead } });
    server.emit('connection', socket);
    return socket;
  };
  const become = (socket: Socket) => {
    if (socket.destroyed) return 'closed';
    return connections.isSurplus(socket) ? 'surplus' : 'served';
  };
  return {
    server,
    logged,
    open,
    become,
    usage: () => connections.usage(),
    /** What becomes of connections of these addresses, one after the other. */
    opened: (...addresses: string[]) => addresses.map((address) => become(open(address))),
  };
}

async function close(socket: Socket): Promise<void> {
  socket.destroy();
  await once(socket, 'close');
}

describe('a connection is served', () => {
  test('as long as there are places', () => {
    const { opened, usage, logged } = start({ most: 2 });
    expect(opened(A, A, A, B)).toEqual(['served', 'served', 'surplus', 'surplus']);
    expect(usage()).toEqual({ open: 2, refused: 2, closed: 0 });
    expect(logged.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ connections: 2, per_address: 0, msg: expect.stringContaining('refusing connections') }),
    ]);
  });

  test('as long as its address has not too many', () => {
    const { opened } = start({ perAddress: 2 });
    expect(opened(A, A, A, B)).toEqual(['served', 'served', 'surplus', 'served']);
    expect(opened('2001:db8::1', '2001:db8::2', '2001:db8::3')).toEqual(['served', 'served', 'surplus']);
  });

  test.each([
    ['a proxy', [A], A],
    ['a network of proxies', ['10.0.0.0/8'], '10.1.2.3'],
    ['a proxy with IPv6', ['2001:db8::1'], '2001:db8::1'],
    ['a network of proxies with IPv6', ['2001:db8::/32'], '2001:db8::1'],
  ])('from %s, however many it has', (_, proxies, address) => {
    const { opened } = start({ perAddress: 1, most: 3, surplusPerAddress: 1 }, proxies);
    expect(opened(address, address, address)).toEqual(['served', 'served', 'served']);
    expect(opened(address, address)).toEqual(['surplus', 'surplus']);
    const others = start({ perAddress: 1 }, proxies);
    expect(others.opened(B, B)).toEqual(['served', 'surplus']);
  });

  test('in the place of another one that has nothing to do', () => {
    const { open, become, usage, logged } = start({ most: 3, restMs: 0 });
    const [first, second, other, last] = [open(A), open(A), open(B), open(C)];
    expect([first, second, other, last].map(become)).toEqual(['closed', 'served', 'served', 'served']);
    expect(usage()).toEqual({ open: 3, refused: 0, closed: 1 });
    expect(logged.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ connections: 3, per_address: 0, msg: expect.stringContaining('to make room') }),
    ]);
  });

  test('in the place of one of its own address, if that has too many', () => {
    const { open, become } = start({ most: 10, perAddress: 1, restMs: 0 }, [B]);
    const [many, own] = [[open(B), open(B)], open(A)];
    const another = open(A);
    expect([...many, own, another].map(become)).toEqual(['served', 'served', 'closed', 'served']);
  });
});

describe('a connection without a place', () => {
  test('is told so, unless too many are, or too many of its address', () => {
    const { opened } = start({ most: 0, surplus: 3, surplusPerAddress: 2 });
    expect(opened(A, A, A, B, C)).toEqual(['surplus', 'surplus', 'closed', 'surplus', 'closed']);
  });

  test('leaves room to others when it is closed', async () => {
    const { open, opened } = start({ most: 0, surplus: 3, surplusPerAddress: 2 });
    const [first, second] = [open(A), open(A)];
    await close(first);
    expect(opened(A, A)).toEqual(['surplus', 'closed']);
    await close(second);
    expect(opened(A, A)).toEqual(['surplus', 'closed']);
    expect(opened(B, B)).toEqual(['surplus', 'closed']);
  });

  test('that is closed leaves nothing behind of its address', async () => {
    const { open, opened } = start({ most: 0, surplusPerAddress: 1 });
    await close(open(A));
    expect(opened(A, A)).toEqual(['surplus', 'closed']);
  });

  test('has one answer', () => {
    const { server, open } = start({ most: 1 });
    const told = [open(A), open(A)].map((socket) => {
      const request = new IncomingMessage(socket);
      const answer = new ServerResponse(request);
      server.emit('request', request, answer);
      return answer.getHeader('connection');
    });
    expect(told).toEqual([undefined, 'close']);
  });
});

describe('a connection is closed', () => {
  test.each([
    ['that has sent nothing', { firstByteMs: 1000 }],
    ['that had no place', { most: 0, surplusMs: 1000 }],
  ])('%s, when its time is over', (_, limits) => {
    const { open } = start(limits);
    const first = open(A);
    vi.advanceTimersByTime(500);
    const second = open(A);
    vi.advanceTimersByTime(499);
    expect(first.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect([first, second].map(({ destroyed }) => destroyed)).toEqual([true, false]);
    vi.advanceTimersByTime(500);
    expect(second.destroyed).toBe(true);
  });

  test('not for its time if it has sent something', () => {
    const { open } = start({ firstByteMs: 1000 });
    const socket = open(A, 1);
    vi.advanceTimersByTime(5000);
    expect(socket.destroyed).toBe(false);
  });

  test('by nobody once the server is closed', () => {
    const { server } = start({});
    expect(vi.getTimerCount()).toBe(1);
    server.emit('close');
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a connection that cannot be accepted does not end the process', () => {
  const { server } = start({});
  expect(() => server.emit('error', new Error('EMFILE'))).not.toThrow();
});

test('a connection that cannot be accepted is logged, and an address that cannot be had is not', async () => {
  const server = createServer();
  const logged: unknown[] = [];
  logAcceptErrors(server, { error: (...line: unknown[]) => void logged.push(line) });
  server.emit('error', new Error('EADDRINUSE'));
  expect(logged).toEqual([]);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const err = new Error('EMFILE');
  server.emit('error', err);
  expect(logged).toEqual([[{ err }, expect.any(String)]]);
});

test.each([
  ['/documented', true, 503, '/{documented}'],
  ['/other', true, 503, 'as before'],
  ['/documented', false, 200, 'as before'],
])('%s on a connection without a place (%s) has %i', async (url, isSurplus, status, path) => {
  const app = Fastify();
  onTestFinished(async () => void (await app.close()));
  app.decorateRequest('documentedPath', 'as before');
  refuseSurplus(app, { isSurplus: () => isSurplus, usage: () => ({ open: 0, refused: 0, closed: 0 }) });
  const paths: string[] = [];
  app.addHook('onResponse', async ({ documentedPath }) => void paths.push(documentedPath));
  app.get('/documented', { config: { documentedPath: '/{documented}' } }, () => 'x');
  app.get('/other', () => 'x');
  expect((await app.inject(url)).statusCode).toBe(status);
  expect(paths).toEqual([path]);
});
