/** Which requests of a connection are handled, in which order, and which connections are cut; without a server. */
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { inLine, type PipeliningLimits, stopParsing } from '../../../src/api/http/pipelining.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setImmediate'] }));
afterEach(() => void vi.useRealTimers());

/** A turn of the event loop. */
const turn = () => void vi.runOnlyPendingTimers();

function untilIdle(): void {
  while (vi.getTimerCount() > 0) turn();
}

function start(limits: Partial<PipeliningLimits> = {}) {
  /** The names of those whose handling has begun. */
  const begun: (string | undefined)[] = [];
  const logged: unknown[] = [];
  const take = inLine(
    ({ url }) => void begun.push(url),
    { atOnce: 1, waiting: 100, waitingInAll: 100, ...limits },
    { warn: (...line: unknown[]) => void logged.push(line) },
  );
  const connect = () => {
    const socket = new Socket();
    const ask = (name: string) => {
      const request = new IncomingMessage(socket);
      request.url = name;
      const answer = new ServerResponse(request);
      take(request, answer);
      return { request, answer, end: () => void answer.emit('close') };
    };
    return { socket, ask, askMany: (count: number) => Array.from({ length: count }, (_, n) => ask(String(n))) };
  };
  return { begun, logged, connect };
}

describe('of one connection', () => {
  test('a request that comes alone begins at once, and those behind it after what came with them', () => {
    const { begun, connect } = start({ atOnce: 3 });
    const { ask } = connect();
    for (const name of ['a', 'b', 'c', 'd']) ask(name);
    expect(begun).toEqual(['a']);
    untilIdle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  test('as many are handled at once as may be, in their order', () => {
    const { begun, connect } = start({ atOnce: 2 });
    const { ask } = connect();
    const [a, b] = [ask('a'), ask('b')];
    for (const name of ['c', 'd', 'e']) ask(name);
    untilIdle();
    expect(begun).toEqual(['a', 'b']);
    b.end();
    untilIdle();
    expect(begun).toEqual(['a', 'b', 'c']);
    a.end();
    untilIdle();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  test('none overtakes those that wait for their turn', () => {
    const { begun, connect } = start();
    const { ask } = connect();
    const a = ask('a');
    ask('b');
    a.end();
    const c = ask('c');
    expect(begun).toEqual(['a']);
    untilIdle();
    expect(begun).toEqual(['a', 'b']);
    expect(c.answer.destroyed).toBe(false);
  });

  test('one that comes alone again begins at once again', () => {
    const { begun, connect } = start();
    const { ask } = connect();
    ask('a').end();
    ask('b').end();
    expect(begun).toEqual(['a', 'b']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('more than may wait cost it the connection, and none of them begins', async () => {
    const { begun, logged, connect } = start({ atOnce: 2, waiting: 3, waitingInAll: 50 });
    const { socket, ask, askMany } = connect();
    askMany(5);
    expect(socket.destroyed).toBe(false);
    ask('one too many');
    expect(socket.destroyed).toBe(true);
    untilIdle();
    expect(begun).toEqual(['0']);
    expect(logged).toEqual([[{ waiting: 3, in_all: 50 }, expect.stringContaining('pipelining')]]);
  });

  test('as many may wait as before once those before them have begun', () => {
    const { connect } = start({ atOnce: 1, waiting: 2 });
    const { socket, ask, askMany } = connect();
    const [first] = askMany(3);
    first?.end();
    untilIdle();
    ask('d');
    expect(socket.destroyed).toBe(false);
    ask('e');
    expect(socket.destroyed).toBe(true);
  });
});

describe('of all connections', () => {
  test('eight that wait begin in a turn, and the others in the next ones', () => {
    const { begun, connect } = start();
    const firsts = Array.from({ length: 17 }, () => {
      const { ask } = connect();
      const first = ask('first');
      ask('second');
      return first;
    });
    for (const first of firsts) first.end();
    const seconds = () => begun.filter((name) => name === 'second').length;
    const counts = [8, 16, 17].map(() => {
      turn();
      return seconds();
    });
    expect(counts).toEqual([8, 16, 17]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('each begins one at a time, in turn', () => {
    const { begun, connect } = start({ atOnce: 3 });
    for (const name of ['a', 'b']) {
      const { ask } = connect();
      for (const n of [1, 2, 3]) ask(`${name}${n}`);
    }
    untilIdle();
    expect(begun).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
  });

  test('when more wait than may, the one with most of them is cut', () => {
    const { connect, logged } = start({ waitingInAll: 6 });
    const [few, most, last] = [connect(), connect(), connect()];
    few.askMany(3);
    most.askMany(4);
    last.askMany(2);
    expect([few, most, last].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
    last.ask('one too many');
    expect([few, most, last].map(({ socket }) => socket.destroyed)).toEqual([false, true, false]);
    // What it held is free at once: three more may wait.
    last.ask('a');
    last.ask('b');
    expect([few, last].map(({ socket }) => socket.destroyed)).toEqual([false, false]);
    few.ask('c');
    last.ask('one too many');
    expect([few, last].map(({ socket }) => socket.destroyed)).toEqual([false, true]);
    expect(logged).toHaveLength(1);
  });

  test('of two with as many, the one that has just asked is cut', () => {
    const { connect } = start({ waitingInAll: 3 });
    const [other, own] = [connect(), connect()];
    other.askMany(3);
    own.askMany(3);
    expect([other, own].map(({ socket }) => socket.destroyed)).toEqual([false, true]);
  });

  test('one that once had more of them does not save the one that has most now', () => {
    const { connect } = start({ waitingInAll: 6 });
    const [before, most, last] = [connect(), connect(), connect()];
    for (const { end } of before.askMany(6)) {
      end();
      untilIdle();
    }
    most.askMany(5);
    last.askMany(3);
    last.ask('one too many');
    expect([before, most, last].map(({ socket }) => socket.destroyed)).toEqual([false, true, false]);
  });

  test('those that have begun do not count among those that wait', () => {
    const { connect } = start({ waitingInAll: 3 });
    const [once, longest, last] = [connect(), connect(), connect()];
    const asked = once.askMany(4);
    for (const { end } of asked) {
      end();
      untilIdle();
    }
    longest.askMany(3);
    last.askMany(2);
    expect([once, longest, last].map(({ socket }) => socket.destroyed)).toEqual([false, false, false]);
    last.ask('as many as the longest');
    expect([once, longest, last].map(({ socket }) => socket.destroyed)).toEqual([false, false, true]);
    once.askMany(2);
    once.ask('one too many');
    expect([once, longest].map(({ socket }) => socket.destroyed)).toEqual([true, false]);
  });
});

describe('of a connection that is closed', () => {
  test('none takes the turn of another', async () => {
    const { begun, connect } = start();
    const all = Array.from({ length: 9 }, () => connect());
    const firsts = all.map(({ ask }, n) => {
      const first = ask('first');
      ask(`second of ${n}`);
      return first;
    });
    for (const { end } of firsts) end();
    for (const { socket } of all.slice(0, 8)) {
      socket.destroy();
      await once(socket, 'close');
    }
    begun.length = 0;
    turn();
    expect(begun).toEqual(['second of 8']);
  });

  test('what is handled ends, what waits does not begin, and others may wait in its place', async () => {
    const { begun, connect, logged } = start({ waitingInAll: 3 });
    const [closed, other] = [connect(), connect()];
    const [running] = closed.askMany(4);
    closed.socket.destroy();
    await once(closed.socket, 'close');
    expect(running?.request.destroyed).toBe(true);
    expect(running?.answer.destroyed).toBe(true);
    running?.end();
    other.askMany(4);
    untilIdle();
    expect(begun).toEqual(['0', '0']);
    expect(other.socket.destroyed).toBe(false);
    expect(logged).toEqual([]);
  });

  test.each([
    ['closed', (socket: Socket) => socket.destroy()],
    ['being closed', (socket: Socket) => socket.end()],
  ])('nothing begins once it is %s', (_, close) => {
    const { begun, connect } = start({ atOnce: 2 });
    const { socket, ask } = connect();
    ask('a');
    const waiting = [ask('b'), ask('c')];
    close(socket);
    untilIdle();
    ask('d');
    const unused = connect();
    close(unused.socket);
    unused.ask('e');
    expect(begun).toEqual(['a']);
    expect(waiting.map(({ answer }) => answer.destroyed)).toEqual([true, true]);
  });
});

describe('a connection that is not to be parsed any more', () => {
  test('has a parser that is told of the end of HTTP', () => {
    const parser = { onIncoming: () => 0 };
    stopParsing(Object.assign(new Socket(), { parser }));
    expect(parser.onIncoming()).toBe(2);
  });

  test.each([new Socket(), Object.assign(new Socket(), { parser: null })])('may have none', (socket) => {
    expect(() => stopParsing(socket)).not.toThrow();
  });

  test('is one that is cut', () => {
    const { connect } = start({ waiting: 1 });
    const { socket, askMany } = connect();
    const parser = { onIncoming: () => 0 };
    Object.assign(socket, { parser });
    askMany(3);
    expect(parser.onIncoming()).not.toBe(0);
  });
});
