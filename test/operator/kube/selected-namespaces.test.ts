import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { SelectedNamespaces } from '../../../src/operator/kube/selected-namespaces.ts';
import { object } from '../objects.ts';
import { answering } from './answering.ts';
import { event, page } from './watch-cache-under-test.ts';

const namespace = (name: string, version: number) => object({ name, version, metadata: { namespace: undefined } });

/** Two caches that follow the selection; each list is answered by the test. */
async function following() {
  const told = Promise.withResolvers<(type: string, name: string, version: number) => void>();
  const server = await answering(page(5, [namespace('first', 1)]), (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    told.resolve((...[type, name, version]) => response.write(event(type, namespace(name, version))));
  });
  const selected = new SelectedNamespaces(server.connect(), 'team=shop', {
    silenceMs: 60_000,
    log: pino({ enabled: false }),
    metrics: createKubeMetrics(new Registry(), 'tests'),
  });
  onTestFinished(() => selected.watch.stop());
  const asked: string[] = [];
  const lists: { of: string; done: () => void }[] = [];
  const cache = (of: string) => ({
    relist: () => new Promise<void>((done) => void lists.push({ of, done })),
    forget: (name: string) => void asked.push(`${of} forgets ${name}, ${selected.isListed(name)}`),
  });
  await selected.start([cache('a'), cache('b')], (name) => void asked.push(`${name} joined`));
  return { selected, asked, lists, tell: await told.promise };
}

test('a namespace that comes is reconciled once every cache has listed it', async () => {
  const { selected, asked, lists, tell } = await following();
  expect([selected.isWatched('first'), selected.isListed('first'), asked]).toEqual([true, true, []]);
  tell('ADDED', 'late', 6);
  await vi.waitFor(() => expect(lists.map(({ of }) => of)).toEqual(['a', 'b']));
  lists[0]?.done();
  await new Promise((done) => setImmediate(done));
  expect([selected.isWatched('late'), selected.isListed('late'), asked]).toEqual([true, false, []]);
  lists[1]?.done();
  await vi.waitFor(() => expect(asked).toEqual(['late joined']));
  expect(selected.isListed('late')).toBe(true);
});

test('a namespace that goes leaves all caches at once, and lists from before do not count when it is back', async () => {
  const { selected, asked, lists, tell } = await following();
  tell('ADDED', 'late', 6);
  tell('DELETED', 'late', 7);
  tell('ADDED', 'late', 8);
  await vi.waitFor(() => expect(lists.map(({ of }) => of)).toEqual(['a', 'b', 'a', 'b']));
  const forgotten = ['a forgets late, false', 'b forgets late, false'];
  expect(asked).toEqual(forgotten);
  for (const { done } of lists.slice(0, 3)) done();
  await new Promise((done) => setImmediate(done));
  expect([selected.isListed('late'), asked]).toEqual([false, forgotten]);
  lists[3]?.done();
  await vi.waitFor(() => expect(asked).toEqual([...forgotten, 'late joined']));
});
