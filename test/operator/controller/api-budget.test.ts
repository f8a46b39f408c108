import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiBudget } from '../../../src/operator/controller/api-budget.ts';

const stopping = new Error('the operator stops');

/** A call that runs until told to end; `began` is the order in which calls started. */
function calls(budget: ApiBudget) {
  const began: string[] = [];
  const call = (name: string) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const admitted = budget.admit(() => {
      began.push(name);
      return promise;
    });
    return { admitted, resolve, reject };
  };
  return { began, call };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a budget of calls', () => {
  test('admits a limited number at a time, the others in order', async () => {
    const { began, call } = calls(new ApiBudget(2));
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(call);
    await turn();
    expect(began).toEqual(['a', 'b']);
    b?.resolve();
    await b?.admitted;
    await turn();
    expect(began).toEqual(['a', 'b', 'c']);
    for (const each of [a, c, d]) each?.resolve();
    await Promise.all([a?.admitted, c?.admitted, d?.admitted]);
    expect(began).toEqual(['a', 'b', 'c', 'd']);
  });

  test('counts a failed call as ended', async () => {
    const { began, call } = calls(new ApiBudget(1));
    const [a, b] = [call('a'), call('b')];
    a.reject(new Error('no'));
    await expect(a.admitted).rejects.toThrow('no');
    b.resolve();
    await b.admitted;
    expect(began).toEqual(['a', 'b']);
  });
});

describe('a pause requested by the API', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['with Retry-After', Object.assign(new Error('slow down'), { retryAfterMs: 60_000 }), 0, true],
    ['without Retry-After', new Error('no'), 0, false],
    ['with one that is almost over', Object.assign(new Error('slow down'), { retryAfterMs: 60_000 }), 59_999, true],
    ['with one that is over', Object.assign(new Error('slow down'), { retryAfterMs: 60_000 }), 60_000, false],
    ['with an absurd one', Object.assign(new Error('slow down'), { retryAfterMs: 9e12 }), 299_999, true],
    [
      'with an absurd one, after the longest pause',
      Object.assign(new Error('x'), { retryAfterMs: 9e12 }),
      300_000,
      false,
    ],
  ])('by an error %s', async (_, error, passedMs, holdsUp) => {
    const budget = new ApiBudget(1);
    const { began, call } = calls(budget);
    const first = call('first');
    first.reject(error);
    await expect(first.admitted).rejects.toThrow(error.message);
    vi.advanceTimersByTime(passedMs);
    const second = call('second');
    second.resolve();
    const outcome = second.admitted.then(
      () => 'admitted',
      (error: unknown) => (error === stopping ? 'refused' : error),
    );
    await turn();
    expect(began).toEqual(holdsUp ? ['first'] : ['first', 'second']);
    // Calls waiting for the end of a pause fail when the operator stops.
    budget.close(stopping);
    expect(await outcome).toBe(holdsUp ? 'refused' : 'admitted');
  });
});

test('a pause ends by itself', async () => {
  const budget = new ApiBudget(1);
  budget.pause(5);
  expect(await budget.admit(async () => 'admitted')).toBe('admitted');
});
