import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { type Client, createClient } from '../../../src/client/client.ts';
import { REASON } from '../../../src/operator/contract/reasons.ts';
import { createControllerMetrics } from '../../../src/operator/controller/metrics.ts';
import { Resync, type ResyncKind } from '../../../src/operator/controller/resync.ts';
import { WorkQueue } from '../../../src/operator/controller/work-queue.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { Blocked, type Remote } from '../../../src/operator/managed/declaration/external.ts';
import { readPolicies } from '../../../src/operator/managed/declaration/spec.ts';
import {
  type ObjectConnection,
  type ObjectConnections,
  oneConnection,
} from '../../../src/operator/managed/object/object-connections.ts';
import { condition, object } from '../objects.ts';

const nobody = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'none' });
const running: Resync[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(running.splice(0).map((resync) => resync.stop()));
});

/** A resync of a family whose list is `listed`; objects are in sync as soon as their resource exists. */
function setUp(
  listed: (client: Client) => AsyncIterable<Remote> | Iterable<Remote>,
  everyMs = 3_600_000,
  connections: Pick<ObjectConnections, 'of'> = oneConnection(nobody),
) {
  const store = new ObjectStore();
  const registry = new Registry();
  const queue = new WorkQueue({ backoff: { firstMs: 1, longestMs: 1 } });
  let lists = 0;
  const kindOf = (client: Client): ResyncKind => ({
    through: kindOf,
    name: 'IPPolicy',
    referencesOf: () => [],
    comparableSpec: readPolicies,
    isAttached: false,
    declared: {},
    describe: () => ({}),
    now: () => new Date(),
    expired: () => undefined,
    looksHeld: ({ metadata }) => !metadata.labels?.lost,
    refreshAt: ({ uri }) => (uri.endsWith('/ends') ? new Date() : undefined),
    renewsAt: () => undefined,
    external: {
      changes: () => [],
      async *all() {
        lists++;
        yield* listed(client);
      },
    },
  });
  const kind = kindOf(nobody);
  const metrics = createControllerMetrics(registry);
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
  const resync = new Resync({ kind, connections, store, queue, everyMs, metrics, log });
  running.push(resync);
  const counted = async (result: string) => {
    const label = `tunnel_operator_resyncs_total{kind="IPPolicy",result="${result}"} `;
    const line = (await registry.metrics()).split('\n').find((each) => each.startsWith(label));
    return Number(line?.slice(label.length) ?? 0);
  };
  return { store, queue, resync, counted, lines, lists: () => lists };
}

/** Connections by the label `through`; those in `broken` have a problem. */
function connected(...broken: string[]) {
  const open = new Map<string, ObjectConnection>();
  const of = ({ metadata }: KubeObject) => {
    const key = metadata.labels?.through ?? '';
    const problem = broken.includes(key) && { problem: new Blocked(REASON.connectionNotFound, 'none') };
    const known = open.get(key) ?? {
      ...{ key, record: key, client: createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: key }), ...problem },
    };
    open.set(key, known);
    return known;
  };
  const nameOf = (client: Client) => [...open.values()].find((each) => each.client === client)?.key ?? '';
  return { of, nameOf };
}
const through = (key: string, name: string) =>
  object({ name, metadata: { labels: { through: key } } }, { externalId: name });

const remote = (id: string): Remote => ({ id, uri: `http://api/${id}` });
const owner = (name: string, version = 1) => object({ name, version }, { externalId: name });

describe('a resync', () => {
  test('plans the reconcile of an object whose resource changes by itself, even after a restart', async () => {
    const { store, queue, resync } = setUp(() => [{ ...remote('a'), uri: 'http://api/ends' }, remote('b')]);
    for (const id of ['a', 'b']) store.put(object({ name: id, status: { id } }, { externalId: id }));
    resync.start();
    expect(await queue.get()).toBe('ns/a');
    expect(queue.depth).toBe(0);
  });

  test('queues an object that was in sync but no longer holds what its resource handed out', async () => {
    const { store, queue, resync, lists } = setUp(() => [remote('a'), remote('b')], 20);
    const conditions = (['Ready', 'Synced'] as const).map((type) => ({
      ...condition(type, 'True'),
      observedGeneration: 1,
    }));
    const metadata = { generation: 1, labels: { lost: 'yes' } };
    store.put(
      object({ name: 'a', metadata, status: { id: 'a', observedGeneration: 1, conditions } }, { externalId: 'a' }),
    );
    store.put(object({ name: 'b', metadata, status: { id: 'b' } }, { externalId: 'b' }));
    resync.start();
    expect(await queue.get()).toBe('ns/a');
    // The first round does not queue it, because the start has checked everything.
    expect(lists()).toBeGreaterThan(1);
    expect(queue.depth).toBe(0);
  });

  test('queues the objects whose resource is gone, and no others', async () => {
    const { store, queue, resync, counted } = setUp(() => [remote('a'), remote('c')]);
    for (const name of ['a', 'b', 'c', 'd']) store.put(owner(name));
    resync.start();
    await waitFor('the comparison', async () => (await counted('success')) === 1);
    expect([await queue.get(), await queue.get(), queue.depth]).toEqual(['ns/b', 'ns/d', 0]);
  });

  test('leaves alone an object that was changed or created during the listing', async () => {
    const { store, queue, resync, counted } = setUp(async function* () {
      store.put(owner('a', 2));
      store.put(owner('new'));
      yield* [];
    });
    for (const name of ['a', 'b']) store.put(owner(name));
    resync.start();
    await waitFor('the comparison', async () => (await counted('success')) === 1);
    expect([await queue.get(), queue.depth]).toEqual(['ns/b', 0]);
  });

  test('is repeated even after a failure, and logs the stack of a failure again after a success', async () => {
    let times = 0;
    const { store, resync, lines, counted } = setUp(async function* () {
      if (++times !== 3) throw new Error('the API is down');
      yield* [];
    }, 1);
    store.put(owner('a'));
    resync.start();
    await waitFor('three failures', () => lines.length >= 3, { intervalMs: 5 });
    const line = { kind: 'IPPolicy', msg: 'resync with the management API failed; will retry' };
    const err = { message: 'the API is down' };
    const error = 'Error: the API is down';
    expect(lines.slice(0, 3)).toMatchObject([
      { ...line, err },
      { ...line, error },
      { ...line, err },
    ]);
    expect([await counted('success'), (await counted('error')) >= 3]).toEqual([1, true]);
  });

  test('that is stopped ends at the next resource, queues nothing and is not repeated', async () => {
    const held = Promise.withResolvers<void>();
    const { store, queue, resync, counted, lists } = setUp(async function* () {
      yield remote('x');
      await held.promise;
      yield remote('y');
      throw new Error('the listing went on');
    }, 1);
    store.put(owner('a'));
    resync.start();
    await waitFor('the listing', () => lists() === 1);
    const stopped = resync.stop();
    expect(await Promise.race([stopped, turn('not yet')])).toBe('not yet');
    held.resolve();
    await stopped;
    expect([queue.depth, lists(), await counted('success'), await counted('error')]).toEqual([0, 1, 0, 0]);
  });

  test('compares the objects of each connection with its own list, and lists nothing where there is none', async () => {
    const connections = connected('broken');
    const lists: string[] = [];
    const listed = (client: Client) => {
      lists.push(connections.nameOf(client));
      return [remote(connections.nameOf(client) === 'one' ? 'a' : 'b')];
    };
    const { store, queue, resync, counted } = setUp(listed, undefined, connections);
    for (const [key, name] of [...['a', 'b'].map((each) => ['one', each]), ['two', 'c'], ['broken', 'd']])
      store.put(through(String(key), String(name)));
    resync.start();
    await waitFor('the comparison', async () => (await counted('success')) === 1);
    expect(lists.sort()).toEqual(['one', 'two']);
    expect([await queue.get(), await queue.get()].sort()).toEqual(['ns/b', 'ns/c']);
    expect(queue.depth).toBe(0);
  });

  test('soon lists again only the connection whose list failed, which keeps no other from being compared', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const connections = connected();
    const lists: string[] = [];
    const listed = (client: Client) => {
      lists.push(connections.nameOf(client));
      if (lists.length <= 2 && connections.nameOf(client) === 'down') throw new Error('the API is down');
      return [];
    };
    const { store, queue, resync, lines, counted } = setUp(listed, undefined, connections);
    store.put(through('down', 'a'));
    store.put(through('up', 'b'));
    resync.start();
    await vi.advanceTimersByTimeAsync(1);
    expect([lists.toSorted(), queue.depth, await counted('error')]).toEqual([['down', 'up'], 1, 1]);
    expect(lines).toMatchObject([{ kind: 'IPPolicy', connection: 'down' }]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([lists.slice(2), queue.depth, await counted('success')]).toEqual([['down'], 2, 1]);
  });
});
