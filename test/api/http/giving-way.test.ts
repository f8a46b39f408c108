/** Which connection makes room for another one, and when; without a network. */
import { once } from 'node:events';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createPlaces } from '../../../src/api/http/places.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  pass(10 * SLOW_MS);
});
afterEach(() => void vi.useRealTimers());
const pass = (ms: number) => void vi.advanceTimersByTime(ms);

const REST_MS = 100;
const SLOW_MS = 1000;

function start() {
  const server = createServer();
  const places = createPlaces(server, { restMs: REST_MS, slowMs: SLOW_MS });
  const take = (address: string) => {
    const socket = new Socket();
    places.take(socket, address);
    return socket;
  };
  /** A request of which everything has come, unless the body is still to come. */
  const ask = (socket: Socket, { complete = true, arrived = '' } = {}) => {
    const request = new IncomingMessage(socket);
    request.complete = complete;
    if (arrived !== '') request.push(arrived);
    const answer = new ServerResponse(request);
    server.emit('request', request, answer);
    return { request, answer, close: () => void answer.emit('close') };
  };
  /** All of the answer has been handed to the socket. */
  const finish = ({ answer }: ReturnType<typeof ask>) => {
    answer.end();
    answer.emit('prefinish');
  };
  return { places, take, ask, finish };
}

const closed = (...sockets: Socket[]) => sockets.map(({ destroyed }) => destroyed);

describe('places are taken', () => {
  test('until a connection is closed', async () => {
    const { places, take } = start();
    const [first, second, other] = [take('a'), take('a'), take('b')];
    expect([places.taken(), places.takenBy('a'), places.takenBy('b'), places.takenBy('c')]).toEqual([3, 2, 1, 0]);
    first.destroy();
    await once(first, 'close');
    expect([places.taken(), places.takenBy('a')]).toEqual([2, 1]);
    for (const socket of [second, other]) socket.destroy();
    await once(other, 'close');
    expect([places.taken(), places.takenBy('a'), places.takenBy('b')]).toEqual([0, 0, 0]);
  });

  test('no more from when one has made room', async () => {
    const { places, take } = start();
    const [first, second] = [take('a'), take('a')];
    pass(REST_MS);
    expect(places.free('a', false)).toBe(true);
    expect([places.taken(), places.takenBy('a')]).toEqual([1, 1]);
    await once(first, 'close');
    expect([places.taken(), places.takenBy('a')]).toEqual([1, 1]);
    expect(places.free('a', false)).toBe(true);
    expect(closed(first, second)).toEqual([true, true]);
    expect(places.free('a', true)).toBe(false);
  });
});

describe('room is made by', () => {
  test('who has waited longest for a request, and for long enough', () => {
    const { places, take, ask } = start();
    const [first, second, third] = [take('a'), take('a'), take('a')];
    ask(first).close();
    pass(REST_MS - 1);
    expect(places.free('a', false)).toBe(false);
    pass(1);
    expect(places.free('a', false)).toBe(true);
    expect(closed(first, second, third)).toEqual([false, true, false]);
    places.free('a', false);
    expect(closed(first, third)).toEqual([false, true]);
  });

  test('the address that has most, if that is more than the own one has', () => {
    const { places, take } = start();
    const few = [take('few'), take('few')];
    const many = [take('many'), take('many'), take('many')];
    const one = take('one');
    pass(REST_MS);
    expect(places.free('one', true)).toBe(true);
    expect(closed(...few, ...many, one)).toEqual([false, false, true, false, false, false]);
    // Now both have two.
    expect(places.free('few', true)).toBe(true);
    expect(closed(...few, ...many, one)).toEqual([true, false, true, false, false, false]);
    expect(places.free('one', false)).toBe(true);
    expect(one.destroyed).toBe(true);
  });

  test('an address with a single one, for one that has none', () => {
    const { places, take } = start();
    const only = take('a');
    pass(REST_MS);
    expect(places.free('b', false)).toBe(false);
    expect(places.free('b', true)).toBe(true);
    expect(only.destroyed).toBe(true);
  });

  test('an address that has less, where the service works for all connections of the one that has most', () => {
    const { places, take, ask } = start();
    const busy = [take('many'), take('many'), take('many')];
    for (const socket of busy) ask(socket);
    const [idle, other] = [take('few'), take('few')];
    pass(2 * SLOW_MS);
    expect(places.free('new', true)).toBe(true);
    expect(closed(...busy, idle, other)).toEqual([false, false, false, true, false]);
  });
});

describe('a connection with a request makes room', () => {
  test.each([
    ['when its body has not come', { complete: false }, true],
    ['not while what came of its body waits to be read', { complete: false, arrived: 'x' }, false],
    ['not while the service works for it', {}, false],
  ])('%s', (_, given, isClosed) => {
    const { places, take, ask } = start();
    const socket = take('a');
    ask(socket, given);
    pass(SLOW_MS - 1);
    expect(places.free('a', true)).toBe(false);
    pass(1);
    expect(places.free('a', true)).toBe(isClosed);
    expect(socket.destroyed).toBe(isClosed);
  });

  test('when its answer is not read, counted from when that was made', () => {
    const { places, take, ask, finish } = start();
    const socket = take('a');
    const asked = ask(socket);
    pass(SLOW_MS);
    finish(asked);
    pass(SLOW_MS - 1);
    expect(places.free('a', true)).toBe(false);
    pass(1);
    expect(places.free('a', true)).toBe(true);
    expect(socket.destroyed).toBe(true);
  });

  test('when its body does not come, counted from when the service began to read', () => {
    const { places, take, ask } = start();
    const { request } = ask(take('a'), { complete: false });
    pass(SLOW_MS);
    request.emit('resume');
    pass(SLOW_MS - 1);
    expect(places.free('a', true)).toBe(false);
    pass(1);
    expect(places.free('a', true)).toBe(true);
  });

  test('counted from the first of several, whatever becomes of those behind it', () => {
    const { places, take, ask, finish } = start();
    const socket = take('a');
    const first = ask(socket);
    finish(first);
    pass(SLOW_MS - 1);
    const second = ask(socket, { complete: false });
    second.request.emit('resume');
    pass(1);
    expect(places.free('a', true)).toBe(true);
  });

  test('counted anew for the next of several', () => {
    const { places, take, ask } = start();
    const socket = take('a');
    const first = ask(socket);
    ask(socket, { complete: false });
    pass(2 * SLOW_MS);
    first.close();
    expect(places.free('a', true)).toBe(false);
    pass(SLOW_MS);
    expect(places.free('a', true)).toBe(true);
  });

  test('not while the service works for the next of several', () => {
    const { places, take, ask } = start();
    const socket = take('a');
    const first = ask(socket);
    ask(socket);
    first.close();
    pass(SLOW_MS);
    expect(places.free('a', true)).toBe(false);
  });

  test('also behind one for whose next request the time has just begun', () => {
    const { places, take, ask } = start();
    const [several, slow] = [take('a'), take('a')];
    const first = ask(several);
    for (const socket of [several, slow]) ask(socket, { complete: false });
    pass(SLOW_MS);
    first.close();
    expect(places.free('a', true)).toBe(true);
    expect(closed(several, slow)).toEqual([false, true]);
  });

  test('however many were closed before it', async () => {
    const { places, take, ask } = start();
    const slow = take('a');
    for (let n = 0; n < 100; n++) {
      const gone = take('a');
      ask(gone, { complete: false });
      gone.destroy();
      await once(gone, 'close');
    }
    ask(slow, { complete: false });
    pass(SLOW_MS);
    expect(places.free('a', true)).toBe(true);
    expect(slow.destroyed).toBe(true);
  });

  test('as one that waits, once all are answered', () => {
    const { places, take, ask } = start();
    const socket = take('a');
    const asked = ask(socket);
    expect(places.free('a', true)).toBe(false);
    asked.close();
    pass(REST_MS);
    expect(places.free('a', true)).toBe(true);
    expect(socket.destroyed).toBe(true);
  });

  test('after those that only wait', () => {
    const { places, take, ask } = start();
    const [slow, idle] = [take('a'), take('a')];
    ask(slow, { complete: false });
    pass(SLOW_MS);
    expect(places.free('a', true)).toBe(true);
    expect(closed(slow, idle)).toEqual([false, true]);
    expect(places.free('a', true)).toBe(true);
    expect(closed(slow)).toEqual([true]);
  });

  test('behind others for which the service works', () => {
    const { places, take, ask } = start();
    const [busy, slow, late] = [take('a'), take('a'), take('a')];
    ask(busy);
    ask(slow, { complete: false });
    pass(SLOW_MS);
    ask(late, { complete: false });
    expect(places.free('a', true)).toBe(true);
    expect(closed(busy, slow, late)).toEqual([false, true, false]);
    expect(places.free('a', true)).toBe(false);
  });
});

test('an answer that ends after its connection was closed gives nobody a place', async () => {
  const { places, take, ask } = start();
  const [socket, other] = [take('a'), take('a')];
  const asked = ask(socket);
  ask(other);
  socket.destroy();
  await once(socket, 'close');
  asked.close();
  pass(REST_MS);
  expect(places.free('a', true)).toBe(false);
});

test('a request on a connection without a place is nobody to make room', () => {
  const { places, ask } = start();
  ask(new Socket(), { complete: false });
  pass(SLOW_MS);
  expect(places.free('a', true)).toBe(false);
  expect(places.taken()).toBe(0);
});
