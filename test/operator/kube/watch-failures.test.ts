/** Lists and watches that fail: what is logged, when they are repeated, and what counts as a failure. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Answer, cut, hanging, json, refusal } from './answering.ts';
import { bookmark, ended, page, setUp } from './watch-cache-under-test.ts';

describe('a cache that is throttled', () => {
  const later =
    (code: number, seconds: string): Answer =>
    (response, asked) => {
      response.setHeader('retry-after', seconds);
      return refusal(code)(response, asked);
    };

  // The API server throttles the watches of a resource whose definition has just changed.
  test('repeats its watch later, and logs a failure only if the throttling goes on', async () => {
    const { cache, lines, askedFor } = await setUp([page(5, []), ...Array(4).fill(later(429, '0')), hanging()]);
    await cache.start();
    await askedFor(6);
    expect(lines.map(({ level, msg, failures }) => [level, msg, failures])).toEqual([
      [30, 'asked to repeat the watch later', 1],
      [30, 'asked to repeat the watch later', 2],
      [30, 'asked to repeat the watch later', 3],
      [40, 'watch failed; will resume', 4],
    ]);
  });
});

describe('an obstacle', () => {
  test.each([
    [404, 'missing', 'the cluster has no ippolicies.tunnel-operator.dev; install its CustomResourceDefinition'],
    [
      403,
      'forbidden',
      'not allowed to list ippolicies.tunnel-operator.dev; grant get, list and watch on ippolicies.tunnel-operator.dev',
    ],
  ])('from a %i is logged once, and reported until it is gone', async (code, kind, message) => {
    const { cache, lines, askedFor, activity } = await setUp([refusal(code), refusal(code), page(5, []), hanging()]);
    await cache.start();
    expect(cache.obstacle()).toEqual({ kind, message });
    await cache.filled;
    await askedFor(4);
    expect(cache.obstacle()).toBeUndefined();
    const about = { msg: message, resource: 'ippolicies' };
    const err = { type: 'KubeError' };
    expect(lines).toMatchObject([
      // For a missing resource, the answer of the API server would only mislead.
      code === 404 ? { level: 40, ...about } : { level: 50, ...about, err },
      { level: 20, ...about, err },
    ]);
    expect([await activity('list'), await activity('list-failed')]).toEqual([3, 2]);
  });

  test('from a missing resource is no warning if the resource is optional', async () => {
    const { cache, lines } = await setUp([refusal(404), page(5, []), hanging()], { isOptional: true });
    await cache.start();
    expect([cache.obstacle()?.kind, lines.map((line) => line.level)]).toEqual(['missing', [20]]);
  });

  test('is not reported for a failure that may pass by itself', async () => {
    const failures = [refusal(500), cut(), json({})];
    const answers = [...failures, page(5, []), hanging()];
    const { cache, lines, activity } = await setUp(answers, { namespaces: ['ns'] });
    await cache.start();
    expect([cache.obstacle(), await activity('list-failed')]).toEqual([undefined, 3]);
    const about = { level: 40, msg: 'list failed; will resume', resource: 'ippolicies', namespace: 'ns' };
    expect(lines).toMatchObject([1, 2, 3].map((count) => ({ ...about, failures: count })));
  });
});

describe('the number of failures in a row', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  /** An answer that takes `ms`. */
  const taking =
    (ms: number, answer: Answer): Answer =>
    (response, asked) => {
      vi.advanceTimersByTime(ms);
      return answer(response, asked);
    };

  test.each<[string, number[], ...Answer[]]>([
    ['counts the first failure', [1], taking(1, refusal(500))],
    ['counts a watch that fails', [1, 2], taking(1, refusal(502)), taking(1, refusal(500))],
    ['counts a watch that ends at once after a list', [2], taking(1, ended()), taking(1, refusal(500))],
    ['counts a watch that ends at once', [3], taking(1, ended()), taking(1, ended()), taking(1, refusal(500))],
    ['counts a watch that lasts a second', [3], taking(1, ended()), taking(1_000, ended()), taking(1, refusal(500))],
    ['counts a watch that is refused after every list', [1, 2], refusal(410), page(6, []), refusal(410), page(7, [])],
    ['starts over after a longer watch', [1], taking(1, ended()), taking(1_001, ended()), taking(1, refusal(500))],
    ['starts over after a bookmark', [1], taking(1, ended()), taking(1, ended(bookmark(6))), taking(1, refusal(500))],
    ['starts over with a failure after a bookmark', [1, 1], taking(1, refusal(502)), taking(1, cut(bookmark(6)))],
  ])('%s', async (_, expected, ...watches) => {
    const { cache, lines, askedFor } = await setUp([taking(1, page(5, [])), ...watches, hanging()]);
    await cache.start();
    await askedFor(watches.length + 2);
    expect(lines.map(({ msg, failures }) => [msg, failures])).toEqual(
      expected.map((failures) => ['watch failed; will resume', failures]),
    );
  });
});
