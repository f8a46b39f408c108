/** Which objects are requeued when something that they refer to changes. */
import { expect, test } from 'vitest';
import { FINALIZER } from '../../../src/operator/contract/names.ts';
import {
  EnqueueOwnersOfModules,
  EnqueueReferrers,
  IndexInputs,
} from '../../../src/operator/controller/input-handlers.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { type ObjectChange, ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { Reference } from '../../../src/operator/managed/declaration/input.ts';
import { type ObjectKey, objectKey } from '../../../src/operator/managed/knowledge/reference-index.ts';
import { noInputs } from '../inputs.ts';
import { condition, object } from '../objects.ts';

const DELETED_AT = '2026-11-21T11:00:00Z';
const deleting = { deletionTimestamp: DELETED_AT, finalizers: [FINALIZER] };
const route = (fields: Parameters<typeof object>[0] = {}) => object({ name: 'r', kind: 'Route', ...fields });
const ROUTE = objectKey('Route', 'ns', 'r');
const ref = (name: string, namespace?: string) => new Reference({ kind: 'Edge', name, namespace });

const added = (of: KubeObject): ObjectChange => ({ type: 'added', key: 'ns/r', object: of });
const updated = (previous: KubeObject, of: KubeObject): ObjectChange => ({
  type: 'updated',
  key: 'ns/r',
  object: of,
  previous,
});
const deleted = (of: KubeObject): ObjectChange => ({ type: 'deleted', key: 'ns/r', object: of });

/** Routes that refer to edges; `queued` lists the objects that were requeued. */
function setUp(edges: KubeObject[] = []) {
  const inputs = noInputs();
  const queued: string[] = [];
  const routes = new ObjectStore();
  const store = new ObjectStore();
  for (const edge of edges) store.put(edge);
  const concerned: Record<string, string[]> = {};
  inputs.addPeer('Route', { store: routes, enqueue: (key) => queued.push(`Route/${key}`) });
  inputs.addPeer('Edge', {
    store,
    enqueue: (key) => queued.push(`Edge/${key}`),
    concernedWith: (id) => concerned[id] ?? [],
  });
  const refer = (from: ObjectKey, ...to: ObjectKey[]) => inputs.index.set(from, new Set(to));
  return { inputs, queued, routes, concerned, refer };
}

/** The annotation of an object whose resource `rt_2` is superseded. */
const RETIRING = JSON.stringify([{ id: 'rt_2', generation: 1, after: DELETED_AT }]);

/** States of an edge `e`, and whether it may be waiting for its referrers in that state. */
const EDGES: [string, KubeObject, boolean][] = [
  ['serves', object({ name: 'e' }), false],
  ['is being deleted', object({ name: 'e', metadata: deleting }), true],
  ['has superseded a resource', object({ name: 'e' }, { retiring: RETIRING }), true],
  [
    'is not guarded yet',
    object({ name: 'e', status: { conditions: [condition('Ready', 'False', { reason: 'WaitingForModules' })] } }),
    true,
  ],
];

test('the index follows the references of the objects of a kind, until they are gone', () => {
  const { inputs } = setUp();
  const handler = new IndexInputs('Route', inputs, ({ spec }) => spec);
  const targets = () => [...inputs.index.targetsOf(ROUTE)];
  const toBoth = route({ spec: { edges: [ref('a'), ref('b', 'other')] } });
  const toOne = route({ spec: { edges: [ref('b')] } });

  handler.onChange(added(toBoth));
  expect(targets()).toEqual(['Edge/ns/a', 'Edge/other/b']);
  handler.onChange(updated(toBoth, toOne));
  expect(targets()).toEqual(['Edge/ns/b']);
  const dying = { ...toOne, metadata: { ...toOne.metadata, ...deleting } };
  handler.onChange(updated(toOne, dying));
  expect(targets()).toEqual(['Edge/ns/b']);
  // Without the finalizer, nothing of it is left in the API, and no other event may say so.
  handler.onChange(updated(dying, { ...dying, metadata: { ...dying.metadata, finalizers: [] } }));
  expect(targets()).toEqual([]);
  handler.onChange(added(toOne));
  handler.onChange(deleted(toOne));
  expect(targets()).toEqual([]);
});

test.each(EDGES)('an edge that %s is requeued, if it may be waiting, when a referrer leaves', (_, edge, isQueued) => {
  const { inputs, queued } = setUp([edge]);
  const handler = new IndexInputs('Route', inputs, ({ spec }) => spec);
  const before = route({ spec: { edges: [ref('e'), ref('gone')] } });
  handler.onChange(added(before));
  handler.onChange(updated(before, { ...before, metadata: { ...before.metadata, generation: 2 } }));
  const without = route({ spec: { edges: [ref('e')] } });
  handler.onChange(updated(before, without));
  expect(queued).toEqual([]);
  handler.onChange(updated(without, route({ spec: {} })));
  expect(queued).toEqual(isQueued ? ['Edge/ns/e'] : []);
});

const ready = route({ status: { id: 'rt_1' } });
const dying = route({ status: { id: 'rt_1' }, metadata: deleting });

test.each<[string, ObjectChange, boolean]>([
  ['is new', added(ready), true],
  ['gets its resource', updated(route(), ready), true],
  ['gets another resource', updated(ready, route({ status: { id: 'rt_2' } })), true],
  ['is being deleted', updated(ready, dying), true],
  ['is gone', deleted(dying), true],
  ['changes in any other way', updated(ready, route({ status: { id: 'rt_1', more: 1 }, spec: { a: 1 } })), false],
])('whether the referrers of an object are requeued when it %s', (_, change, isQueued) => {
  const { inputs, queued, refer } = setUp();
  refer(objectKey('Edge', 'other', 'e'), ROUTE);
  refer(objectKey('Edge', 'other', 'f'), objectKey('Route', 'ns', 'another'));
  new EnqueueReferrers('Route', inputs).onChange(change);
  expect(queued).toEqual(isQueued ? ['Edge/other/e'] : []);
});

test.each(EDGES)('an edge that %s is requeued, if it may be waiting, when a referrer moves on', (_, edge, isQueued) => {
  const { inputs, queued, refer } = setUp([edge]);
  refer(ROUTE, objectKey('Edge', 'ns', 'e'));
  const handler = new EnqueueReferrers('Route', inputs);
  handler.onChange(updated(ready, route({ status: { id: 'rt_1' }, spec: { a: 1 } })));
  expect(queued).toEqual([]);
  const expected = isQueued ? ['Edge/ns/e'] : [];
  handler.onChange(updated(ready, route({ status: { id: 'rt_1', more: 1 } })));
  expect(queued.splice(0)).toEqual(expected);
  handler.onChange(deleted(ready));
  expect(queued).toEqual(expected);
});

test('a change of a Secret requeues all objects that use it, except the one whose reconcile found the change', () => {
  const { inputs, queued, refer } = setUp();
  const secret = object({ name: 's', kind: 'Secret' });
  for (const name of ['a', 'b']) refer(objectKey('Route', 'ns', name), objectKey('Secret', 'ns', 's'));
  let finder: ObjectKey | undefined;
  const handler = new EnqueueReferrers('Secret', inputs, () => finder);
  handler.onChange(updated(secret, secret));
  expect(queued.splice(0)).toEqual(['Route/ns/a', 'Route/ns/b']);
  finder = objectKey('Route', 'ns', 'a');
  handler.onChange(updated(secret, secret));
  expect(queued).toEqual(['Route/ns/b']);
});

test.each<[string, ObjectChange, string[]]>([
  ['sets them', added(ready), ['Edge/ns/one']],
  ['moves to another resource', updated(ready, route({ status: { id: 'rt_2' } })), ['Edge/ns/one', 'Edge/ns/two']],
  ['is gone', deleted(ready), ['Edge/ns/one']],
  [
    'is finalized',
    updated(dying, route({ status: { id: 'rt_1' }, metadata: { ...deleting, finalizers: [] } })),
    ['Edge/ns/one'],
  ],
  ['changes only its spec', updated(ready, route({ status: { id: 'rt_1' }, spec: { a: 1 } })), []],
  ['sets none', added(route()), []],
])('whether the owner of modules is requeued when the object that declares them %s', (_, change, expected) => {
  const { inputs, queued, concerned } = setUp();
  Object.assign(concerned, { rt_1: ['ns/one'], rt_2: ['ns/two'] });
  new EnqueueOwnersOfModules('Edge', inputs).onChange(change);
  expect(queued).toEqual(expected);
});
