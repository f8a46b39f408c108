/** Who is reconciled when something changes that objects take from each other. */
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

/** Routes that refer to edges; `queued` are those that are to be reconciled. */
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

/** Of an object whose resource `rt_2` another has replaced. */
const RETIRING = JSON.stringify([{ id: 'rt_2', generation: 1, after: DELETED_AT }]);

/** Each is an edge `e`, and whether it may wait for those that refer to it. */
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

test('the index follows what the objects of a kind refer to, until they are gone', () => {
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
  // Nothing of it is left in the API, and no event says so again.
  handler.onChange(updated(dying, { ...dying, metadata: { ...dying.metadata, finalizers: [] } }));
  expect(targets()).toEqual([]);
  handler.onChange(added(toOne));
  handler.onChange(deleted(toOne));
  expect(targets()).toEqual([]);
});

test.each(EDGES)('an edge that %s, is reconciled if need be when it is referred to no more', (_, edge, isQueued) => {
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
  ['is about to go', updated(ready, dying), true],
  ['is gone', deleted(dying), true],
  ['changes in any other way', updated(ready, route({ status: { id: 'rt_1', more: 1 }, spec: { a: 1 } })), false],
])('those that refer to an object are reconciled when it %s', (_, change, isQueued) => {
  const { inputs, queued, refer } = setUp();
  refer(objectKey('Edge', 'other', 'e'), ROUTE);
  refer(objectKey('Edge', 'other', 'f'), objectKey('Route', 'ns', 'another'));
  new EnqueueReferrers('Route', inputs).onChange(change);
  expect(queued).toEqual(isQueued ? ['Edge/other/e'] : []);
});

test.each(EDGES)('an edge that %s, may wait for what refers to it to go on', (_, edge, isQueued) => {
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

test('whatever changes in what is no object of the operator, is news to all that use it but the one that found it out', () => {
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
  ['has set them', added(ready), ['Edge/ns/one']],
  ['moves to another resource', updated(ready, route({ status: { id: 'rt_2' } })), ['Edge/ns/one', 'Edge/ns/two']],
  ['is gone', deleted(ready), ['Edge/ns/one']],
  [
    'was removed from its resource',
    updated(dying, route({ status: { id: 'rt_1' }, metadata: { ...deleting, finalizers: [] } })),
    ['Edge/ns/one'],
  ],
  ['has only another spec', updated(ready, route({ status: { id: 'rt_1' }, spec: { a: 1 } })), []],
  ['has set none', added(route()), []],
])('the owner of modules is reconciled when the object that declares them %s', (_, change, expected) => {
  const { inputs, queued, concerned } = setUp();
  Object.assign(concerned, { rt_1: ['ns/one'], rt_2: ['ns/two'] });
  new EnqueueOwnersOfModules('Edge', inputs).onChange(change);
  expect(queued).toEqual(expected);
});
