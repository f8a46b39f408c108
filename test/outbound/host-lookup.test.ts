import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type HostAddress, hostLookup } from '../../src/outbound/host-lookup.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const FOUND: HostAddress[] = [{ address: '192.0.2.1', family: 4 }];

test('all who ask for a host meanwhile share one lookup', async () => {
  const running = Promise.withResolvers<HostAddress[]>();
  const resolve = vi.fn(() => running.promise);
  const lookup = hostLookup(resolve);
  const asked = ['a.example.com', 'a.example.com', 'b.example.com'].map(lookup);
  expect(resolve.mock.calls).toEqual([['a.example.com'], ['b.example.com']]);
  running.resolve(FOUND);
  expect(await Promise.all(asked)).toEqual([FOUND, FOUND, FOUND]);
  await lookup('a.example.com');
  expect(resolve).toHaveBeenCalledTimes(3);
});

test('a host whose lookup fails late is not looked up again for nine times as long', async () => {
  const resolve = vi.fn(async () => {
    await vi.advanceTimersByTimeAsync(1_000);
    throw new Error('no answer');
  });
  const lookup = hostLookup(resolve);
  const fails = () => expect(lookup('dead.example.com')).rejects.toThrow('no answer');
  await fails();
  await vi.advanceTimersByTimeAsync(8_999);
  await fails();
  expect(resolve).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  await fails();
  expect(resolve).toHaveBeenCalledTimes(2);
});
