import { describe, expect, test } from 'vitest';
import { EnqueueObject, EnqueueOwner, EnqueueRivals } from '../../../src/operator/controller/change-handlers.ts';
import { WorkQueue } from '../../../src/operator/controller/work-queue.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { type ChangeOrigin, type ObjectChange, ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { readPolicies } from '../../../src/operator/managed/declaration/spec.ts';
import { Claims } from '../../../src/operator/managed/knowledge/claims.ts';
import { object } from '../objects.ts';

/** A queue in which no key is needed: `take` returns the keys that were added unconditionally. */
function recordingQueue() {
  const queue = new WorkQueue({ backoff: { firstMs: 1, longestMs: 1 }, isNeeded: () => false });
  const take = async () => {
    queue.add('ns/end');
    const keys: string[] = [];
    for (let key = await queue.get(); key !== 'ns/end'; key = await queue.get()) keys.push(key ?? '');
    queue.done('ns/end');
    for (const key of keys) queue.done(key);
    return keys;
  };
  return { queue, take };
}

const added: ObjectChange = { type: 'added', key: 'ns/a', object: object() };
const updated: ObjectChange = { type: 'updated', key: 'ns/a', object: object({ version: 2 }), previous: object() };
const deleted: ObjectChange = { type: 'deleted', key: 'ns/a', object: object() };

test.each<[string, ObjectChange, ChangeOrigin, number]>([
  ['new is queued', added, 'watch', 1],
  ['changed by others is queued', updated, 'watch', 1],
  ['changed by ourselves is not queued', updated, 'own', 0],
  ['deleted is not queued, since nothing is left to do', deleted, 'watch', 0],
])('an object that is %s', (_, change, origin, expected) => {
  const queue = new WorkQueue({ backoff: { firstMs: 1, longestMs: 1 } });
  new EnqueueObject(queue).onChange(change, origin);
  expect(queue.depth).toBe(expected);
});

test.each<[string, KubeObject, number]>([
  ['the spec', object({ version: 2, metadata: { generation: 2 } }), 0],
  ['an annotation', object({ version: 2 }, { reconcileRequestedAt: 'now' }), 0],
  ['the deletion timestamp', object({ version: 2, metadata: { deletionTimestamp: '2026-11-21T11:00:00Z' } }), 0],
  ['only the status', object({ version: 2, status: { id: 'x' } }), 1],
])('whether failures are forgotten when %s changes', (_, changed, expected) => {
  const queue = new WorkQueue({ backoff: { firstMs: 1_000, longestMs: 1_000 } });
  queue.addRateLimited('ns/a');
  new EnqueueObject(queue).onChange({ ...updated, object: changed }, 'watch');
  expect(queue.failures('ns/a')).toBe(expected);
  queue.shutDown();
});

describe('a changed claim', () => {
  const setUp = () => {
    const { queue, take } = recordingQueue();
    const store = new ObjectStore();
    const claims = new Claims({ membersOf: readPolicies }, store);
    const handlers = [claims, new EnqueueRivals(queue, claims)];
    const tell = (changes: ObjectChange[]) => {
      for (const change of changes) for (const handler of handlers) handler.onChange(change);
    };
    return {
      take,
      put: (next: KubeObject) => tell(store.put(next)),
      remove: (gone: KubeObject) => tell(store.remove(gone)),
    };
  };

  test('requeues all other claimants of the id unconditionally, but not the object itself', async () => {
    const { take, put, remove } = setUp();
    put(object({ name: 'a' }, { adopt: 'x' }));
    expect(await take()).toEqual([]);
    put(object({ name: 'b' }, { adopt: 'x' }));
    expect(await take()).toEqual(['ns/a']);
    put(object({ name: 'c' }, { adopt: 'y' }));
    expect(await take()).toEqual([]);
    put(object({ name: 'b', version: 2 }, { adopt: 'y' }));
    expect(await take()).toEqual(['ns/a', 'ns/c']);
    remove(object({ name: 'b', version: 3 }));
    expect(await take()).toEqual(['ns/c']);
  });
});

describe('a changed Secret', () => {
  const secretOf = (kind: string, name: string) =>
    object({
      name: 's',
      metadata: { ownerReferences: [{ apiVersion: 'v1', kind, name, uid: `uid-of-${name}`, controller: true }] },
    });

  test.each<[string, KubeObject, ChangeOrigin, number]>([
    ['requeues its owner', secretOf('TunnelCredential', 'a'), 'watch', 1],
    ['requeues nothing if the change is our own', secretOf('TunnelCredential', 'a'), 'own', 0],
    ['requeues nothing if its owner is of another kind', secretOf('Other', 'a'), 'watch', 0],
    ['requeues nothing if its owner is gone', secretOf('TunnelCredential', 'b'), 'watch', 0],
  ])('%s', (_, secret, origin, expected) => {
    const queue = new WorkQueue({ backoff: { firstMs: 1, longestMs: 1 } });
    const store = new ObjectStore();
    store.put(object());
    new EnqueueOwner(queue, { name: 'TunnelCredential' }, store).onChange(
      { type: 'added', key: 'ns/s', object: secret },
      origin,
    );
    expect(queue.depth).toBe(expected);
  });
});
