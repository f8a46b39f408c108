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

test('admits a limited number of calls at a time and the others in order, even after a failure', async () => {
  const { began, call } = calls(new ApiBudget(2));
  const [a, b, c] = [call('a'), call('b'), call('c')];
  await turn();
  expect(began).toEqual(['a', 'b']);
  b.reject(new Error('no'));
  await expect(b.admitted).rejects.toThrow('no');
  await turn();
  expect(began).toEqual(['a', 'b', 'c']);
  for (const each of [a, c]) each.resolve();
  await Promise.all([a.admitted, c.admitted]);
});

describe('a pause requested by the API', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['without Retry-After', undefined, 0, false],
    ['with a Retry-After that is almost over', 60_000, 59_999, true],
    ['with a Retry-After that is over', 60_000, 60_000, false],
    ['with an absurd Retry-After', 9e12, 299_999, true],
    ['with an absurd Retry-After, after the longest pause', 9e12, 300_000, false],
  ])('holds up calls only while it lasts: an error %s', async (_, retryAfterMs, passedMs, holdsUp) => {
    const error = Object.assign(new Error('no'), { retryAfterMs });
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
