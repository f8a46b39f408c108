/** What an address may send without a valid key, and how many of its keys are looked up at once. */
import { describe, expect, test, vi } from 'vitest';
import { addressOf } from '../../../src/api/http/rate-limit.ts';
import { A1, B1, settled, startLimiter, WINDOW_MS } from './one-limiter.ts';

describe('an address', () => {
  test('has a limit for all that needs no key, leads nowhere, or is sent with no valid one', async () => {
    const { status, statuses } = await startLimiter({ perAddress: 3 });
    expect(await status('/open')).toBe(200);
    expect(await status('/nowhere')).toBe(404);
    expect(await status('/keyed', { key: 'guess' })).toBe(401);
    expect(await statuses('/keyed', [{ key: 'guess' }, {}])).toEqual([429, 429]);
    expect([await status('/open'), await status('/nowhere')]).toEqual([429, 429]);
    expect(await status('/open', { from: '192.0.2.2' })).toBe(200);
    vi.advanceTimersByTime(WINDOW_MS);
    expect(await statuses('/keyed', [{}, { key: 'guess' }])).toEqual([401, 401]);
  });

  test('uses it up by keys that could not be looked up, but not for keys that are valid', async () => {
    const { statuses, fail } = await startLimiter({ perAddress: 2 });
    fail(new Error('the database is away'));
    expect(await statuses('/keyed', Array(4).fill({ key: 'guess' }))).toEqual([500, 500, 429, 429]);
    expect(await statuses('/keyed', [{ key: 'guess', from: '192.0.2.2' }])).toEqual([500]);
    fail(undefined);
    expect(await statuses('/keyed', [{ key: 'guess' }, A1, A1])).toEqual([429, 200, 200]);
  });

  test('is one, whatever port a proxy names beside it', async () => {
    const { statuses } = await startLimiter({ perAddress: 1 });
    expect(await statuses('/open', [{ from: '192.0.2.1:1' }, { from: '192.0.2.1:2' }])).toEqual([200, 429]);
  });

  test('may have none', async () => {
    const { statuses } = await startLimiter({ perKey: 1 });
    expect(await statuses('/keyed', Array(5).fill({ key: 'guess' }))).toEqual(Array(5).fill(401));
    expect(await statuses('/open', Array(5).fill({}))).toEqual(Array(5).fill(200));
  });

  test('beyond its limit has keys looked up one after the other, and nothing else', async () => {
    const { send, status, hold, lookups } = await startLimiter({ perAddress: 1 });
    expect(await status('/open')).toBe(200);
    const go = hold();
    const asked = [A1, { key: 'guess' }, B1].map((ask) => send('/keyed', ask));
    await settled();
    expect(lookups).toEqual(['a-1']);
    expect(await status('/keyed')).toBe(429);
    go();
    expect((await Promise.all(asked)).map(({ statusCode }) => statusCode)).toEqual([200, 429, 200]);
    expect(lookups).toEqual(['a-1', 'guess', 'b-1']);
    expect(await status('/keyed', { key: 'guess' })).toBe(429);
  });

  test('that has used it up while requests waited in line goes on one after the other, too', async () => {
    const { send, status, statuses, hold, lookups } = await startLimiter({ perAddress: 1 });
    const go = hold();
    const guesses = ['x', 'y', 'z', ''].map((key) => send('/keyed', { key }));
    await settled();
    expect(lookups).toEqual(['x', 'y']);
    go();
    expect((await Promise.all(guesses)).map(({ statusCode }) => statusCode)).toEqual([401, 429, 429, 429]);
    vi.advanceTimersByTime(WINDOW_MS);
    // All turns have ended.
    const again = hold();
    const more = ['v', 'w'].map((key) => send('/keyed', { key }));
    await settled();
    expect(lookups.slice(-2)).toEqual(['v', 'w']);
    again();
    await Promise.all(more);
    expect(await status('/keyed', A1)).toBe(200);
    expect(await statuses('/keyed', [A1, A1, A1])).toEqual([200, 200, 200]);
  });

  test('that uses it up while others wait in line has their keys looked up one after the other', async () => {
    const { send, status, hold, lookups } = await startLimiter({ perAddress: 1 });
    const go = hold();
    const guesses = ['w', 'x', 'y', 'z'].map((key) => send('/keyed', { key }));
    await settled();
    expect(lookups).toEqual(['w', 'x']);
    const goOn = hold();
    go();
    await settled();
    expect(lookups).toEqual(['w', 'x', 'y']);
    goOn();
    expect((await Promise.all(guesses)).map(({ statusCode }) => statusCode)).toEqual([401, 429, 429, 429]);
    expect(await status('/keyed')).toBe(429);
  });

  test('that has used it up is refused without a key, whoever is being looked up', async () => {
    const { send, status, hold } = await startLimiter({ perAddress: 1 });
    const go = hold();
    const guesses = ['x', 'y'].map((key) => send('/keyed', { key }));
    await settled();
    expect(await status('/open')).toBe(200);
    expect(await status('/keyed')).toBe(429);
    go();
    await Promise.all(guesses);
  });

  test('does not have more looked up at once than all addresses together may, known keys apart', async () => {
    const { send, status, hold, lookups } = await startLimiter({});
    expect(await status('/keyed', A1)).toBe(200);
    lookups.length = 0;
    const go = hold();
    const guesses = Array.from({ length: 6 }, (_, n) => send('/keyed', { key: `guess${n}`, from: `192.0.2.${n}` }));
    await settled();
    expect(lookups).toHaveLength(4);
    const known = send('/keyed', A1);
    await settled();
    expect(lookups.slice(4)).toEqual(['a-1']);
    go();
    expect((await known).statusCode).toBe(200);
    for (const { statusCode } of await Promise.all(guesses)) expect(statusCode).toBe(401);
    expect(lookups).toHaveLength(7);
  });
});

test('a key is not looked up for a client that has gone before its turn', async () => {
  const { send, hold, lookups, replies } = await startLimiter({});
  const go = hold();
  const asked = ['x', 'y', 'z'].map((key) => send('/keyed', { key }));
  await settled();
  const [, , gone] = replies;
  if (gone) gone.isOver = true;
  go();
  expect((await Promise.all(asked)).map(({ statusCode }) => statusCode)).toEqual([401, 401, 499]);
  expect(lookups).toEqual(['x', 'y']);
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:8080', '192.0.2.1'],
  ['[2001:db8::1]:8080', '2001:db8::'],
  ['[2001:db8::1]', '2001:db8::'],
  ['2001:db8::1', '2001:db8::'],
  ['_hidden', 'unknown'],
  ['', 'unknown'],
  [undefined, 'unknown'],
])('the address that %s says is %s', (ip, address) => {
  expect(addressOf({ ip })).toBe(address);
});
