/** What may be held at once, without anybody who holds it. */
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { createBytesInFlight, MAX_PAGE_BYTES } from '../../../src/api/http/bytes-in-flight.ts';
import { RequestAborted } from '../../../src/api/http/request-aborted.ts';

const key = (keyId: string, id = 'owner') => ({ id, keyId });
const PER_KEY = { code: 'RATE_LIMITED', headers: { 'retry-after': '1' }, message: expect.stringContaining('Too many') };
const IN_ALL = { code: 'UNAVAILABLE', message: expect.stringContaining('as many bytes as it may') };

function thrownBy(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

describe('of one key', () => {
  const limits = { perKey: 10, perOwner: 0, inAll: 0 };

  test('exactly as much is held as it may hold, and a refusal holds nothing', () => {
    const bytes = createBytesInFlight(limits);
    bytes.ofCaller(key('a')).add(4);
    const second = bytes.ofCaller(key('a'));
    expect(thrownBy(() => second.add(7))).toMatchObject(PER_KEY);
    expect(bytes.total()).toBe(4);
    second.add(6);
    expect(bytes.total()).toBe(10);
    expect(thrownBy(() => second.add(1))).toMatchObject(PER_KEY);
    bytes.ofCaller(key('b')).add(10);
  });

  test('one byte is a limit, too', () => {
    const bytes = createBytesInFlight({ ...limits, perKey: 1 });
    bytes.ofCaller(key('a')).add(1);
    expect(thrownBy(() => bytes.ofCaller(key('a')).add(1))).toMatchObject(PER_KEY);
  });

  test('one request alone is never refused, however much it holds, but the next one is', () => {
    const bytes = createBytesInFlight(limits);
    const alone = bytes.ofCaller(key('a'));
    alone.add(50);
    alone.add(50);
    const next = bytes.ofCaller(key('a'));
    expect(thrownBy(() => next.add(1))).toMatchObject(PER_KEY);
    // Of two, neither is alone.
    next.hold(1);
    expect(thrownBy(() => alone.add(1))).toMatchObject(PER_KEY);
  });

  test('what must be held is, and counts', () => {
    const bytes = createBytesInFlight(limits);
    const [first, second] = [bytes.ofCaller(key('a')), bytes.ofCaller(key('a'))];
    first.hold(8);
    second.hold(8);
    expect(bytes.total()).toBe(16);
    first.release();
    expect(thrownBy(() => bytes.ofCaller(key('a')).add(3))).toMatchObject(PER_KEY);
    bytes.ofCaller(key('a')).add(2);
  });

  test('what is released is free, once', () => {
    const bytes = createBytesInFlight(limits);
    const [first, second] = [bytes.ofCaller(key('a')), bytes.ofCaller(key('a'))];
    first.add(5);
    second.add(5);
    first.release();
    first.release();
    expect(bytes.total()).toBe(5);
    second.release();
    expect(bytes.total()).toBe(0);
    first.add(3);
    expect(bytes.total()).toBe(3);
  });

  test('what is over holds nothing any more, and is added to no more', () => {
    const bytes = createBytesInFlight(limits);
    const over = bytes.ofCaller(key('a'));
    over.add(5);
    over.end();
    over.end();
    over.hold(5);
    expect(() => over.add(5)).toThrow(RequestAborted);
    expect(bytes.total()).toBe(0);
  });

  test('there is room for a page when a page is free', () => {
    const bytes = createBytesInFlight({ ...limits, perKey: MAX_PAGE_BYTES + 10 });
    const [first, second] = [bytes.ofCaller(key('a')), bytes.ofCaller(key('a'))];
    first.add(10);
    second.check();
    expect(bytes.total()).toBe(10);
    first.add(1);
    expect(thrownBy(() => second.check())).toMatchObject(PER_KEY);
    // Alone, it has room.
    first.check();
  });
});

test('of one owner, all keys count, and not those of another', () => {
  const bytes = createBytesInFlight({ perKey: 0, perOwner: 10, inAll: 0 });
  bytes.ofCaller(key('a')).add(6);
  expect(thrownBy(() => bytes.ofCaller(key('b')).add(5))).toMatchObject(PER_KEY);
  bytes.ofCaller(key('b')).add(4);
  bytes.ofCaller(key('c', 'another')).add(10);
});

test('of those without a key, each address counts, and all together', () => {
  const bytes = createBytesInFlight({ perKey: 10, perOwner: 15, inAll: 0 });
  bytes.ofAddress('192.0.2.1').add(8);
  expect(thrownBy(() => bytes.ofAddress('192.0.2.1').add(3))).toMatchObject(PER_KEY);
  bytes.ofAddress('192.0.2.2').add(7);
  expect(thrownBy(() => bytes.ofAddress('192.0.2.3').add(1))).toMatchObject(PER_KEY);
  bytes.ofCaller(key('a')).add(10);
});

test('five owners and the strangers who hold all they may leave room for one more', () => {
  const room = 100 * MAX_PAGE_BYTES;
  const bytes = createBytesInFlight({ perKey: 0, perOwner: room / 2, inAll: room });
  const fill = (open: () => ReturnType<typeof bytes.ofCaller>) => {
    let pages = 0;
    while (thrownBy(() => open().add(MAX_PAGE_BYTES)) === undefined) pages++;
    return pages;
  };
  const filled = ['one', 'two', 'three', 'four', 'five'].map((id) => fill(() => bytes.ofCaller(key('a', id))));
  expect(filled).toEqual([50, 25, 13, 6, 3]);
  expect(fill(() => bytes.ofAddress('192.0.2.1'))).toBe(2);
  bytes.ofCaller(key('b', 'another')).check();
});

test('of all, the service holds as much as it may', () => {
  const bytes = createBytesInFlight({ perKey: 0, perOwner: 0, inAll: 10 });
  bytes.ofCaller(key('a', 'one')).add(4);
  bytes.ofAddress('192.0.2.1').add(6);
  expect(thrownBy(() => bytes.ofCaller(key('b', 'two')).add(1))).toMatchObject(IN_ALL);
});

test('without a limit for owners, one may hold all there is', () => {
  const bytes = createBytesInFlight({ perKey: 0, perOwner: 0, inAll: 10 });
  bytes.ofCaller(key('a')).add(6);
  bytes.ofCaller(key('b')).add(4);
});

test('without limits, anything is held', () => {
  const bytes = createBytesInFlight({ perKey: 0, perOwner: 0, inAll: 0 });
  for (let n = 0; n < 3; n++) bytes.ofCaller(key('a')).add(MAX_PAGE_BYTES * 1000);
  expect(bytes.total()).toBe(MAX_PAGE_BYTES * 3000);
});
