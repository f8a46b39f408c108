/** How long the connection of a last answer is kept open, by the clock of the test. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { lingerOnClose } from '../../../src/api/http/lingering.ts';

const [QUIET_MS, MOST_MS] = [100, 1000];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'performance'] });
  vi.advanceTimersByTime(10 * MOST_MS);
});
afterEach(() => void vi.useRealTimers());

/** A connection after its last answer, whose client has not closed it. */
async function answered() {
  // Node's own listener would read from it.
  const server = createServer().removeAllListeners('connection');
  lingerOnClose(server, { quietMs: QUIET_MS, mostMs: MOST_MS });
  const parser = { onIncoming: () => 0 };
  const socket = Object.assign(new Socket({ allowHalfOpen: true }), { parser });
  let bytesRead = 500;
  Object.defineProperty(socket, 'bytesRead', { get: () => bytesRead });
  server.emit('connection', socket);
  socket.destroySoon();
  socket.destroySoon();
  expect(socket.writableEnded).toBe(true);
  await once(socket, 'finish');
  return {
    socket,
    parser,
    /** So much later, in which something came. */
    pass(ms: number, bytes = 0) {
      bytesRead += bytes;
      vi.advanceTimersByTime(ms);
      // What runs before the loop waits again.
      vi.advanceTimersByTime(0);
    },
  };
}

test('it is closed once nothing comes any more', async () => {
  const { socket, pass } = await answered();
  pass(QUIET_MS - 1);
  expect(socket.destroyed).toBe(false);
  pass(1, 10);
  expect(socket.destroyed).toBe(false);
  pass(QUIET_MS, 10);
  expect(socket.destroyed).toBe(false);
  pass(QUIET_MS);
  expect(socket.destroyed).toBe(true);
});

test('it is closed when its time is over, whatever still comes', async () => {
  const { socket, pass } = await answered();
  for (let ms = 0; ms < MOST_MS; ms += QUIET_MS) pass(QUIET_MS, 10);
  expect(socket.destroyed).toBe(false);
  pass(QUIET_MS, 10);
  expect(socket.destroyed).toBe(true);
});

test('what comes is not parsed', async () => {
  const { parser } = await answered();
  expect(parser.onIncoming()).not.toBe(0);
});

test('nothing is left to do once it is closed', async () => {
  const { socket } = await answered();
  socket.destroy();
  await once(socket, 'close');
  expect(vi.getTimerCount()).toBe(0);
});
