/** Settings that go with what they belong to. */
import { expect, test } from 'vitest';
import { ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { goesWithOwner } from '../../../src/operator/managed/going-along.ts';
import { objectKey } from '../../../src/operator/managed/inputs/reference-index.ts';
import type { ManagedObject } from '../../../src/operator/managed/managed-object.ts';
import { noInputs } from '../inputs.ts';
import { object } from '../objects.ts';

const deleted = { deletionTimestamp: '2026-11-21T10:00:00Z' };
const retiring = JSON.stringify([{ id: 'own_0', generation: 1, after: '2026-11-21T10:00:00Z' }]);
const owner = (fields: Parameters<typeof object>[0], annotations = {}) =>
  object({ name: 'owner', kind: 'Owner', ...fields, status: { id: 'own_1' } }, annotations);

test.each<[string, boolean, string, ReturnType<typeof object>]>([
  ['that is about to be deleted', true, 'own_1', owner({ metadata: deleted })],
  ['that another has replaced', true, 'own_0', owner({}, { retiring })],
  ['of which nothing is known', false, 'own_2', owner({ metadata: deleted }, { retiring })],
  ['that stays', false, 'own_1', owner({}, { retiring })],
  ['that outlives its object', false, 'own_1', owner({ metadata: deleted, spec: { deletionPolicy: 'Retain' } })],
  ['that is only observed', false, 'own_1', owner({ metadata: deleted, spec: { managementPolicy: 'Observe' } })],
])('settings of a resource %s go with it: %s', (_, goes, ownerId, known) => {
  const inputs = noInputs();
  const store = new ObjectStore();
  store.put(known);
  inputs.addPeer('Owner', { store, enqueue: () => {} });
  const settings = object({ kind: 'Settings' });
  inputs.index.set(objectKey('Settings', 'ns', 'a'), new Set([objectKey('Owner', 'ns', 'owner')]));
  const goesWith = (isAttached: boolean) =>
    goesWithOwner({ kind: { name: 'Settings', isAttached, inputs }, object: settings } as ManagedObject, ownerId);
  expect(goesWith(true)).toBe(goes);
  // What has a resource of its own goes by itself.
  expect(goesWith(false)).toBe(false);
});
