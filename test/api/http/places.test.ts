/** Who has to give up a place: never those for whom the service was slow. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../../dev/processes/wait.ts';
import { createPlaces } from '../../../src/api/http/places.ts';
import { atEnd } from '../harness.ts';
import { open, request as text } from './api-child.ts';

const SLOW_MS = 600_000;
const CLIENT = 'client';
const MIB = 1024 * 1024;

/** Nobody waits for that long: the clock is set forward. */
let passedMs = 0;
const pass = (ms: number) => {
  passedMs += ms;
};
beforeEach(() => {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + passedMs);
});
afterEach(() => vi.restoreAllMocks());

/** A server that answers nothing by itself, and whether a connection can be closed to make room. */
async function start() {
  const asked: { request: IncomingMessage; answer: ServerResponse }[] = [];
  const server = createServer((request, answer) => void asked.push({ request, answer }));
  const places = createPlaces(server, { restMs: Number.POSITIVE_INFINITY, slowMs: SLOW_MS });
  server.on('connection', (socket) => places.take(socket, CLIENT)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return {
    /** What the server has of a request of a new connection, of whose body nothing is read yet. */
    async ask(method = 'GET', announced = 0, sent = announced, behind = '') {
      const { socket } = await open({ port });
      const headers = { 'content-length': String(announced) };
      const before = asked.length;
      socket.pause().write(text('/', { method, headers, body: 'x'.repeat(sent) }) + behind);
      const { request, answer } = await waitFor('the request', () => asked[before]);
      if (sent > 0) await waitFor('its body', () => request.readableLength > 0);
      return { request, answer, next: () => asked[before + 1]?.request };
    },
    closesOne: () => places.free(CLIENT, true),
  };
}

test('an answer that took long to make still has its whole time to be read', async () => {
  const { ask, closesOne } = await start();
  const { request, answer } = await ask();
  pass(SLOW_MS);
  // More than the kernel takes.
  answer.end(Buffer.alloc(16 * MIB));
  expect(closesOne()).toBe(false);
  pass(SLOW_MS);
  expect(closesOne()).toBe(true);
  expect(request.socket.destroyed).toBe(true);
});

test('one whose answer has just been made does not hide another that is slow', async () => {
  const { ask, closesOne } = await start();
  const first = await ask();
  const slow = await ask('POST', 10, 0);
  pass(SLOW_MS);
  first.answer.end(Buffer.alloc(16 * MIB));
  expect(closesOne()).toBe(true);
  expect([first, slow].map(({ request }) => request.socket.destroyed)).toEqual([false, true]);
});

test('a body that was sent, and of which the service has not begun to read what arrived, is not late', async () => {
  const { ask, closesOne } = await start();
  const { request } = await ask('POST', MIB);
  pass(SLOW_MS);
  expect(request.complete).toBe(false);
  expect(closesOne()).toBe(false);
});

test('the rest of a body has its whole time from when the service begins to read', async () => {
  const { ask, closesOne } = await start();
  const { request } = await ask('POST', MIB, 10);
  pass(SLOW_MS);
  request.resume();
  await once(request, 'resume');
  expect(request.readableLength).toBe(0);
  expect(closesOne()).toBe(false);
  pass(SLOW_MS);
  expect(closesOne()).toBe(true);
});

test('a request behind an answer that is not read gives it no more time', async () => {
  const { ask, closesOne } = await start();
  const { answer, next } = await ask('GET', 0, 0, text('/', { method: 'POST', headers: { 'content-length': '10' } }));
  answer.end(Buffer.alloc(16 * MIB));
  const second = await waitFor('the second request', next);
  pass(SLOW_MS);
  second.resume();
  await once(second, 'resume');
  expect(closesOne()).toBe(true);
});
