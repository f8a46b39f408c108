/** Namespaces that a cache stops to watch, or may not list, and that come back. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, test, vi } from 'vitest';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { NamespacePresence } from '../../../src/operator/kube/namespace-presence.ts';
import { object } from '../objects.ts';
import { type Answer, answering, hanging, json, refusal } from './answering.ts';
import { page, setUp } from './watch-cache-under-test.ts';

describe('a namespace that may not be listed', () => {
  const says = 'namespace ns is being deleted, and the operator has no rights there; its objects wait until it has';

  test('is skipped while it is being deleted, and its objects are known again once it may be listed', async () => {
    const metadata = { namespace: undefined, deletionTimestamp: '2026-11-21T10:00:00Z' };
    const leaving = json(object({ name: 'ns', metadata }));
    const lines: string[] = [];
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line).msg) });
    const presence = new NamespacePresence((await answering(leaving)).connect(), {
      log,
      metrics: createKubeMetrics(new Registry(), 'tests'),
    });
    let mayList = false;
    const later: Answer = (response, asked) => {
      const granted = asked.line.includes('watch=') ? hanging() : page(9, [object()]);
      return (mayList ? granted : refusal(403))(response, asked);
    };
    const { cache, changes } = await setUp([page(5, [object()]), refusal(403), later], {
      namespaces: ['ns'],
      presence,
    });
    await cache.start();
    await vi.waitFor(() => expect(presence.skipped).toEqual([says]));
    await expect(cache.catchUp('ns')).rejects.toMatchObject({ code: 403 });
    expect([cache.gapIn('ns'), cache.obstacle(), cache.staleness(), cache.store.size]).toEqual([says, undefined, 0, 1]);
    mayList = true;
    await vi.waitFor(() => expect(cache.gapIn('ns')).toBeUndefined(), 10_000);
    expect(presence.skipped).toEqual([]);
    expect([changes, lines]).toEqual([['watch: added a 1'], [says, 'namespace ns is watched again']]);
  });
});

describe('a cache of selected namespaces', () => {
  const inside = (namespace: string, version = 1) => object({ version, metadata: { namespace } });
  async function selecting(names: string[], ...answers: Answer[]) {
    const [selected, listed] = [new Set(names), new Set(names)];
    const { cache, askedFor } = await setUp(answers, {
      isWatched: (namespace) => selected.has(namespace),
      isListed: (namespace) => listed.has(namespace),
    });
    return { cache, selected, listed, askedFor };
  }
  const both = page(5, [inside('one'), inside('two')]);
  const answers = [both, hanging(), both, hanging()];
  const known = (cache: { store: { values(): Iterable<KubeObject> } }) =>
    [...cache.store.values()].map(({ metadata }) => metadata.namespace);

  test('lists again when one is added, and says so until all caches have', async () => {
    const { cache, selected, listed, askedFor } = await selecting(['one'], ...answers);
    const gaps = () => [cache.gapIn('two'), cache.unwatched('two')];
    await cache.start();
    await askedFor(2);
    expect([known(cache), cache.gapIn('one')]).toEqual([['one'], undefined]);
    expect(gaps()).toEqual(Array(2).fill('the operator does not watch namespace two'));
    selected.add('two');
    await cache.relist();
    expect(known(cache)).toEqual(['one', 'two']);
    expect(gaps()).toEqual(Array(2).fill('not listed yet'));
    listed.add('two');
    expect(gaps()).toEqual([undefined, undefined]);
  });

  test('drops the objects of one that is removed, which come back with it unchanged', async () => {
    const { cache, selected, askedFor } = await selecting(['one', 'two'], ...answers);
    await cache.start();
    await askedFor(2);
    selected.delete('two');
    cache.forget('two');
    // The reconcile that is under way.
    cache.observe(inside('two', 7));
    expect(known(cache)).toEqual(['one']);
    selected.add('two');
    await cache.relist();
    expect(known(cache)).toEqual(['one', 'two']);
  });

  test('keeps nothing of one that is removed while it is listed', async () => {
    const gate = Promise.withResolvers<void>();
    const rest: Answer = (...args) => void gate.promise.then(() => page(5, [])(...args));
    const first = page(5, [inside('one'), inside('two')], 'more');
    const { cache, selected, askedFor } = await selecting(['one', 'two'], first, rest, hanging());
    const started = cache.start();
    await askedFor(2);
    selected.delete('two');
    cache.forget('two');
    gate.resolve();
    await started;
    expect(known(cache)).toEqual(['one']);
  });
});
