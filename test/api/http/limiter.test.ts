/** What a key may send, and when it is looked up. */
import { describe, expect, test, vi } from 'vitest';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { A1, A2, B1, settled, startLimiter, WINDOW_MS } from './one-limiter.ts';

describe('a key', () => {
  test('has its limit in a window, and is not looked up beyond it', async () => {
    const { seen, send, status, lookups } = await startLimiter({ perKey: 2 });
    expect(await seen('/keyed', A1)).toEqual([200, 2, 1]);
    vi.advanceTimersByTime(1000);
    expect(await seen('/keyed', A1)).toEqual([200, 2, 0]);
    vi.advanceTimersByTime(1000);
    const { statusCode, headers } = await send('/keyed', A1);
    expect([statusCode, headers['ratelimit-remaining'], headers['ratelimit-reset']]).toEqual([429, '0', '8']);
    expect(headers['retry-after']).toBe('8');
    expect(lookups).toEqual(['a-1', 'a-1']);
    expect(await status('/keyed', A2)).toBe(200);
    vi.advanceTimersByTime(WINDOW_MS);
    expect(await seen('/keyed', A1)).toEqual([200, 2, 1]);
  });

  test('of which one request may be sent is looked up once', async () => {
    const { statuses, lookups } = await startLimiter({ perKey: 1 });
    expect(await statuses('/keyed', [A1, A1])).toEqual([200, 429]);
    expect(lookups).toEqual(['a-1']);
  });

  test('uses up nothing by a look at what is left of it', async () => {
    const { seen, statuses } = await startLimiter({ perKey: 3 });
    expect(await seen('/keyed', A2)).toEqual([200, 3, 2]);
    expect(await statuses('/keyed', [A1, A1, A1, A1])).toEqual([200, 200, 200, 429]);
    expect(await seen('/keyed', A2)).toEqual([200, 3, 1]);
  });

  test('that is refused uses up nothing of its owner, who has a limit for all of them', async () => {
    const { statuses, lookups } = await startLimiter({ perKey: 2, perOwner: 3 });
    expect(await statuses('/keyed', [A1, A1, A1, A1])).toEqual([200, 200, 429, 429]);
    expect(await statuses('/keyed', [A2, A2, B1])).toEqual([200, 429, 200]);
    expect(lookups).toEqual(['a-1', 'a-1', 'a-2', 'b-1']);
  });

  test('is told the tighter of its limits, its own if both leave as much', async () => {
    const { seen } = await startLimiter({ perKey: 3, perOwner: 4 });
    expect(await seen('/keyed', A1)).toEqual([200, 3, 2]);
    expect(await seen('/keyed', A2)).toEqual([200, 3, 2]);
    expect(await seen('/keyed', A2)).toEqual([200, 3, 1]);
    expect(await seen('/keyed', A1)).toEqual([200, 4, 0]);
  });

  test('without a limit is told of none', async () => {
    const { send } = await startLimiter({});
    expect(Object.keys((await send('/keyed', A1)).headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
  });

  test('may lead nowhere as often as it may do something, apart from that', async () => {
    const { statuses } = await startLimiter({ perKey: 2, perAddress: 1 });
    expect(await statuses('/keyed', [A1])).toEqual([200]);
    expect(await statuses('/nowhere', [A1, A1])).toEqual([404, 429]);
    expect(await statuses('/nowhere', [{}, {}])).toEqual([404, 429]);
  });
});

describe('a key that was valid when last seen', () => {
  test('does not wait for others behind its address, and has no more than its share looked up at once', async () => {
    const { send, status, hold, lookups } = await startLimiter({ perAddress: 1 });
    expect(await status('/keyed', A1)).toBe(200);
    const go = hold();
    const others = ['x', 'y', 'z'].map((key) => send('/keyed', { key }));
    await settled();
    const known = [A1, A1, A1].map((ask) => send('/keyed', ask));
    await settled();
    expect(lookups).toEqual(['a-1', 'x', 'y', 'a-1', 'a-1']);
    go();
    for (const { statusCode } of await Promise.all(known)) expect(statusCode).toBe(200);
    await Promise.all(others);
  });

  test('and is not any more counts for its address, then and later', async () => {
    const { statuses, revoked } = await startLimiter({ perKey: 10, perAddress: 2 });
    expect(await statuses('/keyed', [A1])).toEqual([200]);
    revoked.add('a-1');
    expect(await statuses('/keyed', [A1])).toEqual([401]);
    expect(await statuses('/nowhere', [A1, A1])).toEqual([404, 429]);
    expect(await statuses('/keyed', [A1])).toEqual([429]);
  });

  test('stays so when the lookup fails for another reason, which counts for it as any request', async () => {
    const { seen, status, statuses, fail } = await startLimiter({ perKey: 5, perAddress: 1 });
    expect(await seen('/keyed', A1)).toEqual([200, 5, 4]);
    fail(new Error('the database is away'));
    expect(await seen('/keyed', A1)).toEqual([500, 5, 3]);
    fail(new ApiError('UNAVAILABLE', 'away'));
    expect(await seen('/keyed', A1)).toEqual([503, 5, 2]);
    // Others behind its address use up none of it.
    expect(await statuses('/keyed', [{ key: 'guess' }, { key: 'guess' }])).toEqual([503, 429]);
    fail(undefined);
    expect(await seen('/keyed', A1)).toEqual([200, 5, 1]);
    expect(await status('/nowhere', A1)).toBe(404);
    expect(await status('/open')).toBe(429);
  });

  test('is not looked up beyond its limit, nor beyond that of its owner, while lookups fail', async () => {
    const { statuses, lookups, fail } = await startLimiter({ perKey: 2, perOwner: 3 });
    expect(await statuses('/keyed', [A1, A2])).toEqual([200, 200]);
    fail(new Error('the database is away'));
    lookups.length = 0;
    expect(await statuses('/keyed', [A1, A1, A2, A2])).toEqual([500, 429, 429, 429]);
    expect(lookups).toEqual(['a-1']);
  });

  test('is forgotten if it was used longest ago of more than are remembered', async () => {
    const { statuses } = await startLimiter({ perKey: 10, perAddress: 1, knownKeys: 2 });
    expect(await statuses('/keyed', [A1, A2, A1, B1])).toEqual([200, 200, 200, 200]);
    expect(await statuses('/open', [{}])).toEqual([200]);
    expect(await statuses('/nowhere', [A1, A2, B1])).toEqual([404, 429, 404]);
  });

  test('is remembered by default', async () => {
    const { statuses } = await startLimiter({ perKey: 10, perAddress: 1 });
    expect(await statuses('/keyed', [A1, A2])).toEqual([200, 200]);
    expect(await statuses('/open', [{}])).toEqual([200]);
    expect(await statuses('/nowhere', [A1, A2])).toEqual([404, 404]);
  });

  test('counts for its owner where it leads nowhere, if a key has no limit, and for its address if neither has', async () => {
    const ofOwner = await startLimiter({ perOwner: 2, perAddress: 1 });
    expect(await ofOwner.statuses('/keyed', [A1, A2])).toEqual([200, 200]);
    expect(await ofOwner.statuses('/nowhere', [A1, A2, A1])).toEqual([404, 404, 429]);
    const ofNobody = await startLimiter({ perAddress: 1 });
    expect(await ofNobody.statuses('/keyed', [A1])).toEqual([200]);
    expect(await ofNobody.statuses('/nowhere', [A1, A1])).toEqual([404, 429]);
  });
});
