/** Learning what there is without waiting for a watch. */
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { SharedRuns } from '../../../src/operator/kube/shared-runs.ts';
import { WatchCache } from '../../../src/operator/kube/watch-cache.ts';
import { object } from '../objects.ts';
import { type Answer, answering, hanging, json, refusal } from './answering.ts';

const { namespace = '' } = object().metadata;
const page = (items: unknown[], more?: string): Answer =>
  json({ metadata: { resourceVersion: '9', continue: more }, items });

async function setUp(answers: Answer[], namespaces?: readonly string[]) {
  const server = await answering(...answers);
  const cache = new WatchCache(server.connect(), {
    type: { group: 'tunnel-operator.dev', version: 'v1alpha1', plural: 'ippolicies' },
    namespaces,
    silenceMs: 60_000,
    log: pino({ level: 'silent' }),
    metrics: createKubeMetrics(new Registry(), 'tests'),
  });
  onTestFinished(() => cache.stop());
  const changes: string[] = [];
  cache.addHandler({
    onChange: ({ type, object: { metadata } }, origin) =>
      void changes.push(`${origin}: ${type} ${metadata.name} ${metadata.resourceVersion}`),
  });
  return { cache, server, changes };
}

const named = (name: string, version: number) => object({ version, metadata: { name } });

describe('a cache that catches up', () => {
  test('has every page of what there is now, and keeps what is newer', async () => {
    const { cache, server, changes } = await setUp([page([named('a', 4)], 'more'), page([named('b', 5)])]);
    cache.observe(named('a', 7));
    await cache.catchUp(namespace);
    expect(changes).toEqual(['own: added a 7', 'watch: added b 5']);
    const path = `GET /apis/tunnel-operator.dev/v1alpha1/namespaces/${namespace}/ippolicies?limit=500`;
    expect(server.asked.map(({ line }) => line)).toEqual([path, `${path}&continue=more`]);
    expect(cache.staleness()).toBeUndefined();
  });

  test('asks for nothing in a namespace that is not watched', async () => {
    const { cache, server } = await setUp([page([])], [namespace, 'two']);
    await cache.catchUp('three');
    expect(server.asked).toEqual([]);
    await cache.catchUp('two');
    expect(server.asked.map(({ line }) => line)).toEqual([expect.stringContaining('/namespaces/two/')]);
  });

  test.each([403, 404, 410, 500])('is told if it cannot: %i', async (code) => {
    const { cache } = await setUp([refusal(code)]);
    await expect(cache.catchUp(namespace)).rejects.toMatchObject({ name: 'KubeError', code });
  });

  test.each([403, 500])('is told so also of what the watch finds missing in the cluster: %i', async (code) => {
    const { cache } = await setUp([
      (response, asked) => refusal(asked.line.includes('/namespaces/') ? code : 404)(response, asked),
    ]);
    await cache.start();
    await expect(cache.catchUp(namespace)).rejects.toMatchObject({ name: 'KubeError', code });
  });

  test('has nothing of what the watch, too, finds missing in the cluster', async () => {
    const { cache, server } = await setUp([refusal(404), refusal(404), page([]), hanging()]);
    await cache.start();
    await cache.catchUp(namespace);
    expect(server.asked.length).toBeGreaterThan(1);
  });
});

describe('work that is shared', () => {
  test('begins after each that asks for it, and once for all that ask meanwhile', async () => {
    const runs = new SharedRuns();
    const begun: PromiseWithResolvers<void>[] = [];
    const done: string[] = [];
    const ask = (who: string, key = 'one') => {
      const work = () => {
        const gate = Promise.withResolvers<void>();
        begun.push(gate);
        return gate.promise;
      };
      const run = runs.run(key, work).then(
        () => done.push(who),
        () => done.push(`not ${who}`),
      );
      return run;
    };
    const [first, second, third, other] = [ask('first'), ask('second'), ask('third'), ask('other', 'two')];
    expect(begun).toHaveLength(2);
    begun[1]?.resolve();
    await other;
    begun[0]?.reject(new Error('failed'));
    await first;
    await waitFor('the next run', () => begun.length === 3);
    const fourth = ask('fourth');
    await delay(0);
    expect(done).toEqual(['other', 'not first']);
    begun[2]?.resolve();
    await Promise.all([second, third]);
    await waitFor('the last run', () => begun.length === 4);
    begun[3]?.resolve();
    await fourth;
    expect(done).toEqual(['other', 'not first', 'second', 'third', 'fourth']);
    const last = ask('last');
    expect(begun).toHaveLength(5);
    begun[4]?.resolve();
    await last;
  });
});
