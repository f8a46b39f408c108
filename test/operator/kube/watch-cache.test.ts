import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { slim, WatchCache, type WatchCacheOptions } from '../../../src/operator/kube/watch-cache.ts';
import { object } from '../objects.ts';
import { type Answer, answering, cut, hanging, json, refusal } from './answering.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

test.each([
  [
    'nothing that a controller reads',
    object({ spec: { a: 1 } }, { adopt: 'x' }),
    object({ spec: { a: 1 } }, { adopt: 'x' }),
  ],
  ['the managed fields', object({ metadata: { managedFields: [{}] } }), object()],
  [
    'the copy that kubectl makes',
    object({ metadata: { annotations: { [LAST_APPLIED]: '{}', other: 'kept' } } }),
    object({ metadata: { annotations: { other: 'kept' } } }),
  ],
  [
    'nothing of an object without annotations',
    object({ metadata: { annotations: undefined } }),
    object({ metadata: { annotations: undefined } }),
  ],
])('the cache drops %s', (_, of, expected) => {
  expect(slim(of)).toEqual(expected);
});

/** A page of a list. */
const page = (version: number, items: KubeObject[], more?: string): Answer =>
  json({ metadata: { resourceVersion: String(version), continue: more }, items });
const event = (type: string, of: unknown) => `${JSON.stringify({ type, object: of })}\n`;
const bookmark = (version: number) => event('BOOKMARK', { metadata: { resourceVersion: String(version) } });
/** What the API server says of a resource whose definition has just been changed. */
const throttled: Answer = (response, asked) => {
  response.setHeader('retry-after', '0');
  return refusal(429)(response, asked);
};
/** A watch that the server ends. */
const ended =
  (...events: string[]): Answer =>
  (response) =>
    response.end(events.join(''));

async function setUp(answers: Answer[], options: Partial<WatchCacheOptions> = {}) {
  const server = await answering(...answers);
  const lines: Record<string, unknown>[] = [];
  const registry = new Registry();
  const cache = new WatchCache(server.connect(), {
    type: { group: 'tunnel-operator.dev', version: 'v1alpha1', plural: 'ippolicies' },
    silenceMs: 60_000,
    log: pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) }),
    metrics: createKubeMetrics(registry, 'tests'),
    ...options,
  });
  onTestFinished(() => cache.stop());
  const changes: string[] = [];
  cache.addHandler({
    onChange: ({ type, object: { metadata } }, origin) =>
      void changes.push(`${origin}: ${type} ${metadata.name} ${metadata.resourceVersion}`),
  });
  /** What was asked: `list` with the token, or `watch` from a version. */
  const asked = () =>
    server.asked.map(({ line }) => {
      const query = new URL(line.split(' ')[1] ?? '', server.url).searchParams;
      return query.has('watch')
        ? `watch ${query.get('resourceVersion')}`
        : `list ${query.get('continue') ?? ''}`.trim();
    });
  const activity = async (what: string) => {
    const start = `tests_watch_total{resource="ippolicies",activity="${what}"} `;
    const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(start));
    return Number(line?.slice(start.length) ?? 0);
  };
  const askedFor = (count: number) =>
    waitFor(`${count} requests`, () => server.asked.length >= count, { intervalMs: 5 });
  return { cache, server, lines, changes, asked, askedFor, activity };
}

describe('a cache of two namespaces', () => {
  const inside = (namespace: string, version = 1) => object({ version, metadata: { namespace } });
  const listing = (version: number, ...items: KubeObject[]) => page(version, items);
  /** Answers by namespace: the requests of the two come in any order. */
  const byNamespace = (answers: Record<string, Answer[]>): Answer[] => {
    const left = Object.entries(answers);
    const count = left.reduce((sum, [, each]) => sum + each.length, 0);
    return Array.from(
      { length: count },
      (): Answer => (response, request) => {
        const [, mine] = left.find(([namespace]) => request.line.includes(`/namespaces/${namespace}/`)) ?? [];
        const next = mine?.shift() ?? hanging();
        return next(response, request);
      },
    );
  };
  const namespaces = ['one', 'two', 'one'];

  test('lists each by itself, and is filled when both are', async () => {
    const gate = Promise.withResolvers<void>();
    const late: Answer = (response, request) =>
      void gate.promise.then(() => listing(9, inside('two'))(response, request));
    const answers = byNamespace({ one: [listing(5, inside('one')), hanging()], two: [late, hanging()] });
    const { cache, asked, askedFor } = await setUp(answers, { namespaces });
    let isStarted = false;
    const started = cache.start().then(() => {
      isStarted = true;
    });
    await askedFor(3);
    expect([isStarted, cache.staleness()]).toEqual([false, undefined]);
    expect(cache.gapIn('two')).toBe('not listed yet');
    gate.resolve();
    await Promise.all([started, cache.filled]);
    expect([cache.gapIn('one'), cache.gapIn('two')]).toEqual([undefined, undefined]);
    expect(cache.gapIn('three')).toBe('the operator does not watch namespace three');
    await askedFor(4);
    expect([...cache.store.values()].map(({ metadata }) => metadata.namespace)).toEqual(['one', 'two']);
    expect(asked().sort()).toEqual(['list', 'list', 'watch 5', 'watch 9']);
    expect(cache.staleness()).toBeGreaterThanOrEqual(0);
  });

  test('says why it lacks what it may not list, and only that', async () => {
    const answers = byNamespace({ one: [refusal(403), hanging()], two: [listing(6, inside('two')), hanging()] });
    const { cache } = await setUp(answers, { namespaces });
    await cache.start();
    expect(cache.gapIn('one')).toMatch(/^not allowed to list .* in namespace one; grant get, list and watch on /);
    expect(cache.gapIn('two')).toBeUndefined();
  });

  test('lists only the one again whose version has expired', async () => {
    const answers = byNamespace({
      one: [listing(5, inside('one')), refusal(410), listing(7), hanging()],
      two: [listing(6, inside('two')), hanging()],
    });
    const { cache, asked, askedFor, changes } = await setUp(answers, { namespaces });
    await cache.start();
    await askedFor(6);
    expect([...cache.store.values()].map(({ metadata }) => metadata.namespace)).toEqual(['two']);
    expect(asked().sort()).toEqual(['list', 'list', 'list', 'watch 5', 'watch 6', 'watch 7']);
    expect(changes.filter((each) => each.includes('deleted'))).toHaveLength(1);
  });

  test('names the one that it may not read', async () => {
    const answers = byNamespace({ one: [listing(5), hanging()], two: [refusal(403)] });
    const { cache } = await setUp(answers, { namespaces });
    await cache.start();
    expect(cache.obstacle()?.message).toMatch(/^not allowed to list ippolicies\S+ in namespace two; grant/);
    expect(cache.staleness()).toBeUndefined();
  });
});

describe('a cache', () => {
  test('lists all pages, then watches from there, of one namespace and one label', async () => {
    const answers = [page(5, [object()], 't'), page(5, [object({ name: 'b' })]), hanging()];
    const { cache, server, changes, askedFor, activity } = await setUp(answers, {
      namespaces: ['ns'],
      labelSelector: 'x=y',
    });
    expect(cache.staleness()).toBeUndefined();
    const before = Date.now();
    await Promise.all([cache.start(), cache.start(), cache.filled]);
    expect([...cache.store.values()]).toEqual([object(), object({ name: 'b' })]);
    expect(changes).toEqual(['watch: added a 1', 'watch: added b 1']);
    expect(cache.staleness(before + 60_000)).toBeGreaterThan(0);
    expect(cache.staleness(before + 60_000)).toBeLessThanOrEqual(60_000);
    await askedFor(3);
    const path = 'GET /apis/tunnel-operator.dev/v1alpha1/namespaces/ns/ippolicies';
    const [first, second, third] = server.asked.map(({ line }) => line);
    expect(first).toBe(`${path}?limit=500&labelSelector=x%3Dy`);
    expect(second).toBe(`${path}?limit=500&continue=t&labelSelector=x%3Dy`);
    expect(third).toMatch(/\/namespaces\/ns\/.*&resourceVersion=5&timeoutSeconds=\d+&labelSelector=x%3Dy$/);
    expect([await activity('list'), await activity('watch'), await activity('list-failed')]).toEqual([1, 1, 0]);
  });

  test('takes in what the watch tells, and resumes after the last of it', async () => {
    const told = [event('ADDED', object({ version: 6 })), event('MODIFIED', object({ version: 7 }))];
    const deleted = event('DELETED', object({ version: 8 }));
    const answers = [page(5, []), ended(...told), ended(deleted), ended(bookmark(12)), hanging()];
    const { cache, lines, changes, asked, askedFor, activity } = await setUp(answers);
    await cache.start();
    await askedFor(5);
    expect(changes).toEqual(['watch: added a 6', 'watch: updated a 7', 'watch: deleted a 7']);
    expect(asked()).toEqual(['list', 'watch 5', 'watch 7', 'watch 8', 'watch 12']);
    expect([lines, await activity('watch-failed')]).toEqual([[], 0]);
  });

  test.each<[string, Partial<WatchCacheOptions>, KubeObject]>([
    ['what controllers read', {}, object({ version: 6 })],
    ['what it is told to', { transform: (of) => ({ ...of, kept: 1 }) }, { ...object({ version: 6 }), kept: 1 }],
  ])('keeps only %s', async (_, options, expected) => {
    const whole = object({ version: 6, metadata: options.transform ? {} : { managedFields: [{}] } });
    const { cache } = await setUp([page(5, [whole]), hanging()], options);
    await cache.start();
    expect([...cache.store.values()]).toEqual([expected]);
    cache.observe({ ...whole, metadata: { ...whole.metadata, resourceVersion: '7' } });
    const [kept] = cache.store.values();
    expect(kept).toEqual({ ...expected, metadata: { ...expected.metadata, resourceVersion: '7' } });
  });

  test('knows the writes of its own process', async () => {
    const { cache, changes } = await setUp([page(5, []), hanging()]);
    await cache.start();
    cache.observe(object({ version: 6 }));
    cache.observeDelete(object({ version: 6 }));
    expect(changes).toEqual(['own: added a 6', 'own: deleted a 6']);
  });

  test.each([
    ['expired', 'at once', refusal(410)],
    ['expired', 'later', hanging(event('ERROR', { code: 410 }))],
    ['not found', 'at once', refusal(404)],
  ])('lists again when the watch is refused as %s, %s', async (_, __, answer) => {
    const { cache, asked, askedFor, activity } = await setUp([page(5, [object()]), answer, page(9, []), hanging()]);
    await cache.start();
    await askedFor(4);
    expect(asked()).toEqual(['list', 'watch 5', 'list', 'watch 9']);
    expect([cache.store.size, await activity('watch-failed'), await activity('list')]).toEqual([0, 1, 2]);
  });

  test('resumes a watch that is silent for too long, which is no failure', async () => {
    const answers = [page(5, []), hanging(), hanging(bookmark(6)), hanging()];
    const { cache, lines, asked, askedFor, activity } = await setUp(answers, { silenceMs: 50 });
    await cache.start();
    await askedFor(4);
    expect(asked().slice(0, 4)).toEqual(['list', 'watch 5', 'watch 5', 'watch 6']);
    expect(await activity('watch-silent')).toBeGreaterThanOrEqual(2);
    expect([lines, await activity('watch-failed')]).toEqual([[], 0]);
  });

  test('is not silent as long as anything comes', async () => {
    const trickle: Answer = async (response) => {
      for (let version = 6; version < 16; version++) {
        response.write(bookmark(version));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      response.end();
    };
    const { cache, asked, askedFor, activity } = await setUp([page(5, []), trickle, hanging()], { silenceMs: 400 });
    await cache.start();
    await askedFor(3);
    expect([asked(), await activity('watch-silent')]).toEqual([['list', 'watch 5', 'watch 15'], 0]);
  });

  test.each<[string, Answer[]]>([
    ['a list', [() => {}]],
    ['a watch', [page(5, []), hanging()]],
  ])('ends %s when it is told to stop, which is no failure', async (_, answers) => {
    const { cache, server, lines, askedFor, activity } = await setUp(answers);
    void cache.start();
    await askedFor(answers.length);
    await cache.stop();
    expect([server.asked.length, lines]).toEqual([answers.length, []]);
    expect([await activity('list-failed'), await activity('watch-failed')]).toEqual([0, 0]);
  });

  test('repeats later what it is asked to repeat later, which is a failure only if it goes on', async () => {
    const { cache, lines, askedFor } = await setUp([page(5, []), ...Array(4).fill(throttled), hanging()]);
    await cache.start();
    await askedFor(6);
    expect(lines.map(({ level, msg, failures }) => [level, msg, failures])).toEqual([
      [30, 'asked to repeat the watch later', 1],
      [30, 'asked to repeat the watch later', 2],
      [30, 'asked to repeat the watch later', 3],
      [40, 'watch failed; will resume', 4],
    ]);
  });

  test('does not come back before it was asked to', async () => {
    const at: number[] = [];
    const noting =
      (answer: Answer): Answer =>
      (response, asked) => {
        at.push(Date.now());
        return answer(response, asked);
      };
    const later: Answer = (response, asked) => {
      response.setHeader('retry-after', '1');
      return refusal(429)(response, asked);
    };
    const { cache, askedFor } = await setUp([page(5, []), noting(later), noting(hanging())]);
    await cache.start();
    await askedFor(3);
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(999);
  });

  test('is not kept waiting longer than a timer can run, which would be no time at all', async () => {
    const later: Answer = (response, asked) => {
      response.setHeader('retry-after', '99999999');
      return refusal(503)(response, asked);
    };
    const { cache, asked, askedFor } = await setUp([later]);
    void cache.start();
    await askedFor(1);
    await new Promise((done) => setTimeout(done, 500));
    expect(asked()).toEqual(['list']);
  });

  test("tells of what was found before the watch has brought it, as of anybody else's change", async () => {
    const { cache, changes } = await setUp([page(5, [object({ version: 4 })]), hanging()]);
    await cache.start();
    cache.observeFound(object({ version: 6 }));
    expect(changes.at(-1)).toBe(`watch: updated ${object().metadata.name} 6`);
  });

  test('does not wait for the next attempt when it is told to stop', async () => {
    const { cache } = await setUp([refusal(403)]);
    await cache.start();
    await turn();
    expect(await Promise.race([cache.stop().then(() => 'stopped'), turn('still waiting')])).toBe('stopped');
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
  ])('%i is told once, until it is gone', async (code, kind, message) => {
    const { cache, lines, askedFor, activity } = await setUp([refusal(code), refusal(code), page(5, []), hanging()]);
    await cache.start();
    expect(cache.obstacle()).toEqual({ kind, message });
    let isFilled = false;
    void cache.filled.then(() => {
      isFilled = true;
    });
    await askedFor(2);
    expect(isFilled).toBe(false);
    await cache.filled;
    await askedFor(4);
    expect(cache.obstacle()).toBeUndefined();
    const about = { msg: message, resource: 'ippolicies' };
    const err = { type: 'KubeError' };
    expect(lines).toMatchObject([
      // What the API server answers for a resource that is missing would only mislead.
      code === 404 ? { level: 40, ...about } : { level: 50, ...about, err },
      { level: 20, ...about, err },
    ]);
    expect([await activity('list'), await activity('list-failed')]).toEqual([3, 2]);
  });

  test('of a watch is one too, and of the core group', async () => {
    const type = { group: '', version: 'v1', plural: 'secrets' };
    const { cache, asked, askedFor } = await setUp([page(5, []), refusal(403), hanging(bookmark(6))], { type });
    await cache.start();
    await waitFor('the obstacle', () => cache.obstacle() !== undefined, { intervalMs: 1 });
    expect(cache.obstacle()?.message).toBe('not allowed to watch secrets; grant get, list and watch on secrets');
    await askedFor(3);
    expect(asked()).toEqual(['list', 'watch 5', 'watch 5']);
    await waitFor('its end', () => cache.obstacle() === undefined, { intervalMs: 5 });
  });

  test('is nothing that passes by itself', async () => {
    const failures = [refusal(500), cut(), json({})];
    const { cache, lines, activity } = await setUp([...failures, page(5, []), hanging()]);
    let isTried = false;
    void cache.start().then(() => {
      isTried = true;
    });
    await waitFor('three failures', () => lines.length === 3);
    expect([isTried, cache.obstacle()]).toEqual([false, undefined]);
    await cache.filled;
    expect(lines).toMatchObject(
      failures.map((_, index) => ({
        level: 40,
        msg: 'list failed; will resume',
        resource: 'ippolicies',
        failures: index + 1,
      })),
    );
    expect(await activity('list-failed')).toBe(3);
  });
});

describe('what counts as a failure in a row', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  /** An answer that takes so long. */
  const taking =
    (ms: number, answer: Answer): Answer =>
    (response, asked) => {
      vi.advanceTimersByTime(ms);
      return answer(response, asked);
    };

  test.each<[string, number[], ...Answer[]]>([
    ['the first', [1], taking(1, refusal(500))],
    ['a watch that failed', [1, 2], taking(1, refusal(502)), taking(1, refusal(500))],
    ['not the end of the watch that follows a list', [1], taking(1, ended()), taking(1, refusal(500))],
    ['a watch that ends at once', [2], taking(1, ended()), taking(1, ended()), taking(1, refusal(500))],
    ['one that lasts for a second', [2], taking(1, ended()), taking(1_000, ended()), taking(1, refusal(500))],
    ['not one that lasts for longer', [1], taking(1, ended()), taking(1_001, ended()), taking(1, refusal(500))],
    ['not one that tells something', [1], taking(1, ended()), taking(1, ended(bookmark(6))), taking(1, refusal(500))],
    ['not one that tells something and fails', [1, 1], taking(1, refusal(502)), taking(1, cut(bookmark(6)))],
  ])('%s', async (_, expected, ...watches) => {
    const { cache, lines, askedFor } = await setUp([taking(1, page(5, [])), ...watches, hanging()]);
    await cache.start();
    await askedFor(watches.length + 2);
    expect(lines.map(({ msg, failures }) => [msg, failures])).toEqual(
      expected.map((failures) => ['watch failed; will resume', failures]),
    );
  });
});
