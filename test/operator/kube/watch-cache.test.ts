import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { slim } from '../../../src/operator/kube/watch-cache.ts';
import { object } from '../objects.ts';
import { type Answer, hanging, refusal } from './answering.ts';
import { bookmark, ended, event, page, setUp } from './watch-cache-under-test.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

test('a cache drops managed fields and the last-applied copy of kubectl, unless it has a transform', async () => {
  const whole = (version: number) =>
    object({
      version,
      spec: { a: 1 },
      metadata: { managedFields: [{}], annotations: { [LAST_APPLIED]: '{}', other: 'kept' } },
    });
  const kept = (version: number) => object({ version, spec: { a: 1 }, metadata: { annotations: { other: 'kept' } } });
  const { cache } = await setUp([page(5, [whole(4)]), hanging()]);
  await cache.start();
  expect([...cache.store.values()]).toEqual([kept(4)]);
  cache.observe(whole(7));
  expect([...cache.store.values()]).toEqual([kept(7)]);
  expect(slim(object({ metadata: { annotations: undefined } })).metadata.annotations).toBeUndefined();

  const only = await setUp([page(5, [whole(4)]), hanging()], {
    transform: ({ metadata }) => object({ name: metadata.name }),
  });
  await only.cache.start();
  expect([...only.cache.store.values()]).toEqual([object()]);
});

describe('a cache of two namespaces', () => {
  const inside = (namespace: string, version = 1) => object({ version, metadata: { namespace } });
  const listing = (version: number, ...items: KubeObject[]) => page(version, items);
  /** Answers by namespace, because the requests of the two come in any order. */
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

  test('lists each namespace by itself, and is filled once both are listed', async () => {
    const gate = Promise.withResolvers<void>();
    const late: Answer = (response, request) =>
      void gate.promise.then(() => listing(9, inside('two'))(response, request));
    const answers = byNamespace({ one: [listing(5, inside('one')), hanging()], two: [late, hanging()] });
    const { cache, asked, askedFor } = await setUp(answers, { namespaces });
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const started = cache.start();
    await askedFor(3);
    expect([cache.gapIn('two'), cache.staleness()]).toEqual(['not listed yet', undefined]);
    vi.setSystemTime(Date.now() + 5_000);
    gate.resolve();
    await Promise.all([started, cache.filled]);
    expect([cache.gapIn('one'), cache.gapIn('two')]).toEqual([undefined, undefined]);
    expect(cache.gapIn('three')).toBe('the operator does not watch namespace three');
    await askedFor(4);
    expect([...cache.store.values()].map(({ metadata }) => metadata.namespace)).toEqual(['one', 'two']);
    expect(asked().sort()).toEqual(['list', 'list', 'watch 5', 'watch 9']);
    // Namespace one was last heard from 5 s ago.
    expect(cache.staleness()).toBe(5_000);
  });

  test('says why it lacks the namespace that it may not list, and only that one', async () => {
    const answers = byNamespace({ one: [refusal(403), hanging()], two: [listing(6, inside('two')), hanging()] });
    const { cache } = await setUp(answers, { namespaces });
    await cache.start();
    expect(cache.gapIn('one')).toMatch(/^not allowed to list .* in namespace one; grant get, list and watch on /);
    expect(cache.gapIn('two')).toBeUndefined();
  });
});

describe('a cache', () => {
  test('lists all pages of one namespace and one label, then watches from the version of the list', async () => {
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
    expect(cache.staleness(before + 60_000)).toBeLessThanOrEqual(60_000);
    await askedFor(3);
    const path = 'GET /apis/tunnel-operator.dev/v1alpha1/namespaces/ns/ippolicies';
    const [first, second, third] = server.asked.map(({ line }) => line);
    expect(first).toBe(`${path}?limit=500&labelSelector=x%3Dy`);
    expect(second).toBe(`${path}?limit=500&continue=t&labelSelector=x%3Dy`);
    expect(third).toMatch(/\/namespaces\/ns\/.*&resourceVersion=5&timeoutSeconds=\d+&labelSelector=x%3Dy$/);
    expect([await activity('list'), await activity('watch'), await activity('list-failed')]).toEqual([1, 1, 0]);
  });

  test('applies watch events, and resumes after the last one', async () => {
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

  test('keeps only the objects that isKept selects, and removes them when they are deleted', async () => {
    const wanted = new Set(['a', 'b']);
    const told = ['a', 'b', 'c'].map((name) => event('ADDED', object({ name, version: 6 })));
    const deleted = ['a', 'b', 'c'].map((name) => event('DELETED', object({ name, version: 7 })));
    const later: Answer = (response, request) => {
      wanted.delete('a');
      ended(...deleted)(response, request);
    };
    const answers = [page(5, [object(), object({ name: 'c' })]), ended(...told), later, hanging()];
    const { cache, changes, askedFor } = await setUp(answers, { isKept: ({ metadata }) => wanted.has(metadata.name) });
    await cache.start();
    expect([...cache.store.values()]).toEqual([object()]);
    await askedFor(4);
    expect(changes.slice(1)).toEqual([
      'watch: updated a 6',
      'watch: added b 6',
      'watch: deleted a 6',
      'watch: deleted b 6',
    ]);
  });

  test('stores the writes of its own process', async () => {
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

  test('resumes a watch that is silent for too long, and does not count that as a failure', async () => {
    const answers = [page(5, []), hanging(), hanging(bookmark(6)), hanging()];
    const { cache, lines, asked, askedFor, activity } = await setUp(answers, { silenceMs: 50 });
    await cache.start();
    await askedFor(4);
    expect(asked().slice(0, 4)).toEqual(['list', 'watch 5', 'watch 5', 'watch 6']);
    expect(await activity('watch-silent')).toBeGreaterThanOrEqual(2);
    expect([lines, await activity('watch-failed')]).toEqual([[], 0]);
  });

  test.each<[string, Answer[]]>([
    ['a list', [() => {}]],
    ['a watch', [page(5, []), hanging()]],
  ])('ends %s when it is stopped, and does not count that as a failure', async (_, answers) => {
    const { cache, server, lines, askedFor, activity } = await setUp(answers);
    void cache.start();
    await askedFor(answers.length);
    await cache.stop();
    expect([server.asked.length, lines]).toEqual([answers.length, []]);
    expect([await activity('list-failed'), await activity('watch-failed')]).toEqual([0, 0]);
  });
});

describe('a cache that catches up', () => {
  const named = (name: string, version: number) => object({ name, version });

  test('reads every page of the current list, and keeps newer versions', async () => {
    const { cache, changes, asked } = await setUp([page(9, [named('a', 4)], 'more'), page(9, [named('b', 5)])]);
    cache.observe(named('a', 7));
    await cache.catchUp('ns');
    expect(changes).toEqual(['own: added a 7', 'watch: added b 5']);
    expect([asked(), cache.staleness()]).toEqual([['list', 'list more'], undefined]);
  });

  test('asks for one object, if only that is wanted', async () => {
    const { cache, changes, server } = await setUp([page(9, [named('a', 4)])]);
    await cache.catchUp('', 'a');
    expect(changes).toEqual(['watch: added a 4']);
    expect(server.asked.map(({ line }) => line)).toEqual([
      expect.stringMatching(/policies\?.*fieldSelector=metadata.name%3Da/),
    ]);
  });

  test('sends no request for a namespace that is not watched', async () => {
    const { cache, server } = await setUp([page(9, [])], { namespaces: ['one', 'two'] });
    await cache.catchUp('three');
    expect(server.asked).toEqual([]);
    await cache.catchUp('two');
    expect(server.asked.map(({ line }) => line)).toEqual([expect.stringContaining('/namespaces/two/')]);
  });

  test.each([
    ['fails on a refusal', [refusal(403)], false, 403],
    ['fails on a missing resource that the watch has not found missing', [refusal(404)], false, 404],
    ['fails on a refusal, even if the watch finds the resource missing', [refusal(404), refusal(403)], true, 403],
    ['accepts a missing resource if the watch finds it missing as well', [refusal(404)], true, undefined],
  ])('%s', async (_, answers, isStarted, code) => {
    const [first = refusal(500), then = first] = answers;
    const { cache } = await setUp([
      (response, asked) => (asked.line.includes('/namespaces/') ? then : first)(response, asked),
    ]);
    if (isStarted) await cache.start();
    if (code === undefined) await cache.catchUp('ns');
    else await expect(cache.catchUp('ns')).rejects.toMatchObject({ name: 'KubeError', code });
  });
});
