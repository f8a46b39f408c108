import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { CompanionWatch } from '../../../src/operator/controller/companion-watch.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { type Answer, answering, hanging, refusal } from '../kube/answering.ts';
import { event, page } from '../kube/watch-cache-under-test.ts';
import { object } from '../objects.ts';

interface SetUpOptions {
  namespaces?: string[];
  /** Those that no object of the kind has a companion for. */
  unused?: string[];
}

/** A watch of companions that has not begun yet; `seen` is what it tells. */
async function setUp(answers: Answer[], { namespaces, unused = [] }: SetUpOptions = {}) {
  const server = await answering(...answers);
  const seen: string[] = [];
  const levels: number[] = [];
  const watch = new CompanionWatch(server.connect(), {
    type: { group: 'externaldns.k8s.io', version: 'v1alpha1', plural: 'dnsendpoints' },
    namespaces,
    silenceMs: 60_000,
    log: pino({ level: 'debug' }, { write: (line) => void levels.push(JSON.parse(line).level) }),
    metrics: createKubeMetrics(new Registry(), 'tests'),
    isUsed: (key) => !unused.includes(key),
    onListed: () => seen.push('listed'),
    onChange: (key) => seen.push(key),
  });
  onTestFinished(() => watch.stop());
  const until = (last: string) => waitFor(last, () => seen.at(-1) === last, { intervalMs: 5 });
  return { server, watch, seen, levels, until };
}

/** The companion of the object of its name, in a version and a generation. */
function companion(name: string, version = 1, more: Partial<KubeObject['metadata']> = {}): KubeObject {
  const owner = { apiVersion: 'v1', kind: 'Domain', name, uid: `uid-of-${name}` };
  return object({ name, uid: `uid-of-companion-${name}`, version, metadata: { ownerReferences: [owner], ...more } });
}
const stranger = { ownerReferences: [{ apiVersion: 'v1', kind: 'Domain', name: 'x', uid: 'another' }] };

describe('the companions that are listed', () => {
  test('are known to be of their owners, unless nobody can have such a companion', async () => {
    const items = [companion('a'), companion('b'), companion('c', 1, stranger)];
    const { server, watch, until } = await setUp([page(1, items), hanging()], { unused: ['ns/b'] });
    watch.start();
    await until('listed');
    expect(['a', 'b', 'c', 'd'].map((name) => watch.has(object({ name })))).toEqual([true, false, false, false]);
    // Whatever else is in them would only take memory.
    expect(server.asked[0]?.headers.accept).toContain('PartialObjectMetadataList');
  });

  test.each<[string, string[] | undefined, boolean]>([
    ['everywhere', undefined, false],
    ['in its namespace', ['ns'], true],
  ])('%s replace what was known there', async (_, namespaces, isOtherKept) => {
    const elsewhere = { namespace: 'other' };
    const { watch, until } = await setUp([page(1, []), hanging()], namespaces && { namespaces });
    watch.observe(companion('a'));
    watch.observe(companion('b', 1, elsewhere));
    watch.start();
    await until('listed');
    expect(watch.has(object({ name: 'a' }))).toBe(false);
    expect(watch.has(object({ name: 'b', metadata: elsewhere }))).toBe(isOtherKept);
  });

  test('may be of a kind that the cluster does not have, which is no trouble', async () => {
    const { server, watch, levels } = await setUp([refusal(404)]);
    watch.start();
    await waitFor('a second try', () => server.asked.length > 1, { intervalMs: 5 });
    expect(new Set(levels)).toEqual(new Set([20]));
  });
});

test('once stopped, it listens no more', async () => {
  const ended = Promise.withResolvers<void>();
  const listening: Answer = (...asked) => {
    asked[0].once('close', ended.resolve);
    hanging()(...asked);
  };
  const { server, watch } = await setUp([page(1, []), listening]);
  watch.start();
  await waitFor('the watch', () => server.asked.length === 2, { intervalMs: 5 });
  await watch.stop();
  await ended.promise;
});

describe('a companion', () => {
  const known = companion('a');
  const changed = (to: KubeObject) => event('MODIFIED', to);
  const deleted = (of: KubeObject) => event('DELETED', of);

  test.each<[string, string, boolean]>([
    ['gets another spec', changed(companion('a', 2, { generation: 2 })), true],
    ['gets another owner', changed(companion('a', 2, stranger)), true],
    ['is made anew', changed(companion('a', 2, { uid: 'another' })), true],
    ['is made', event('ADDED', companion('new', 2)), true],
    ['gets another status', changed(companion('a', 2)), false],
    ['is of nobody', event('ADDED', companion('unused', 2)), false],
    ['is deleted', deleted(companion('a', 2)), true],
    ['is deleted that was made anew since', deleted(companion('a', 2, { uid: 'before' })), false],
    ['is deleted of which nothing is known', deleted(companion('unused', 2)), false],
  ])('that %s', async (_, what, isNews) => {
    const last = event('ADDED', companion('last', 9));
    const { watch, seen, until } = await setUp([page(1, [known]), hanging(what, last)], { unused: ['ns/unused'] });
    watch.start();
    await until('ns/last');
    expect(seen.length).toBe(isNews ? 3 : 2);
  });

  test('is known as the watch has told last', async () => {
    const events = [deleted(companion('a', 2)), event('ADDED', companion('b', 3))];
    const { watch, until } = await setUp([page(1, [known]), hanging(...events)]);
    watch.start();
    await until('ns/b');
    expect(['a', 'b'].map((name) => watch.has(object({ name })))).toEqual([false, true]);
  });

  test('that was written just now is no news', async () => {
    const events = [event('ADDED', companion('a', 2)), event('ADDED', companion('last', 9))];
    const observed = Promise.withResolvers<void>();
    const told: Answer = async (...asked) => {
      await observed.promise;
      hanging(...events)(...asked);
    };
    const { watch, seen, until } = await setUp([page(1, []), told]);
    watch.start();
    await until('listed');
    watch.observe(companion('a', 2));
    observed.resolve();
    await until('ns/last');
    expect(seen).toEqual(['listed', 'ns/last']);
  });
});
