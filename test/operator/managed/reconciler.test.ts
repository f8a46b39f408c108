/** The order of the steps of a reconcile. Each step has its own tests; those in test/e2e cover the whole. */
import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { Blocked, StaleObject } from '../../../src/operator/managed/declaration/external.ts';
import { readIdentity } from '../../../src/operator/managed/identity/identity.ts';
import { ManagedReconciler } from '../../../src/operator/managed/reconciler.ts';
import { object } from '../objects.ts';
import { managing } from './managed-under-test.ts';
import { Things, thingKind } from './things.ts';

async function reconciling(given: KubeObject, things: Things, { mayAdopt = true, now = () => new Date() } = {}) {
  const { access, managed, stored } = await managing(given, {
    kind: thingKind(things),
    access: { mayAdopt: () => mayAdopt },
  });
  Object.assign(access.kind, { now });
  const reconciler = new ManagedReconciler(access);
  return {
    reconcile: () => reconciler.reconcile(managed.object),
    identity: async () => readIdentity(await stored()),
  };
}

test.each([
  ['is deleted when it is due, even if the spec is invalid', '10:00', ['thg_1']],
  ['stays until then by the clock of the API, even if the own clock is ahead', '09:59', ['thg_1', 'thg_2']],
])('a superseded resource %s', async (_, time, left) => {
  const retiring = [{ id: 'thg_2', generation: 1, after: '2026-11-21T10:00:00.000Z' }];
  const of = object(
    { spec: { size: 'large' }, status: { id: 'thg_1', createGeneration: 2, retiring } },
    { externalId: 'thg_1', createGeneration: '2', retiring: JSON.stringify(retiring) },
  );
  const things = new Things('thg_1', 'thg_2');
  const now = () => new Date(`2026-11-21T${time}:00Z`);
  const { reconcile } = await reconciling(of, things, { now });
  await expect(reconcile()).rejects.toThrow(Blocked);
  expect(things.ids).toEqual(left);
});

test.each([
  ['that names none to adopt gets a new one', {}, undefined, 'thg_new1'],
  ['that names one to adopt gets none', { adopt: 'thg_1' }, Blocked, undefined],
])('where resources may not be adopted, an object %s', async (_, annotations, refusal, expected) => {
  const of = object({ spec: {} }, annotations);
  const { reconcile, identity } = await reconciling(of, new Things('thg_1'), { mayAdopt: false });
  if (refusal === undefined) await reconcile();
  else await expect(reconcile()).rejects.toThrow(refusal);
  expect((await identity()).externalId).toBe(expected);
});

test('nothing is begun with the operator’s own key if the namespace has a connection that no watch has told of yet', async () => {
  const things = new Things();
  const { access, managed, stored } = await managing(object({ spec: {} }), { kind: thingKind(things) });
  const own = access.connections.of(managed.object);
  let known = own;
  const catchUp = async () => {
    known = { ...own, key: 'APIConnection/default' };
  };
  const connections = { of: () => known, catchUp };
  const reconciler = new ManagedReconciler({ ...access, connections });
  await expect(reconciler.reconcile(managed.object)).rejects.toThrow(StaleObject);
  expect([things.ids, readIdentity(await stored()).generation]).toEqual([[], 0]);
  await reconciler.reconcile(managed.object);
  expect(things.ids).toHaveLength(1);
});
