import { expect, test } from 'vitest';
import { ANNOTATION, FINALIZER } from '../../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import type { Retiring } from '../../../../src/operator/managed/identity/identity.ts';
import { readStatus } from '../../../../src/operator/managed/identity/recorded-status.ts';
import type { ManagedObject } from '../../../../src/operator/managed/object/managed-object.ts';
import {
  ensureAttachedTo,
  ensureOwnerShown,
  goesWithOwner,
  restoreOwnerShown,
  supersededBy,
} from '../../../../src/operator/managed/steps/attachment.ts';
import { condition, object } from '../../objects.ts';
import { manage, owners } from '../managed-under-test.ts';
import { NAMESPACE } from '../placing.ts';
import { SETTINGS } from '../things.ts';

const NOW = new Date('2026-11-21T12:00:00Z');
const now = (id: string): Retiring => ({ id, generation: 0, after: NOW.toISOString() });
const before = (id: string): Retiring => ({ id, generation: 0, after: '2026-11-21T10:00:00Z' });

test.each<[string, string | undefined, Retiring[], Retiring[]]>([
  ['nothing when there was no owner', undefined, [], []],
  ['nothing when the owner is the same', 'new', [], []],
  ['the previous owner', 'old', [], [now('old')]],
  ['the previous owner, after those that still wait', 'old', [before('older')], [before('older'), now('old')]],
  ['each owner once', 'old', [before('old')], [now('old')]],
  ['not itself, when the object returns to it', 'old', [before('new')], [now('old')]],
])('a new owner supersedes %s', (_, externalId, retiring, expected) => {
  const recorded = { externalId, generation: 0, createKey: undefined, retiring };
  expect(supersededBy('new', recorded, NOW)).toEqual(expected);
});

const finalizers = [FINALIZER];
const listing = (...ids: string[]) => JSON.stringify(ids.map(before));
/** An object that belongs to the owner by both its annotations and its status. */
const belongsTo = (id: string, retiring: string[] = [], fields: Parameters<typeof object>[0] = {}) =>
  object(
    { status: { id, createGeneration: 0, retiring: retiring.map(before) }, metadata: { finalizers }, ...fields },
    { externalId: id, retiring: listing(...retiring) },
  );

const wanted = { id: 'thg_1', uri: 'http://api/thg_1', modules: {} };

test.each<[string, KubeObject, string[]]>([
  ['that had no owner', object(), []],
  ['that had no owner, but has the finalizer', object({ metadata: { finalizers } }), []],
  ['that had another, which is superseded', belongsTo('thg_2'), ['thg_2']],
  ['that had superseded this owner', belongsTo('thg_1', ['thg_3', 'thg_1']), ['thg_3']],
  ['that lacks the finalizer', belongsTo('thg_1', [], { metadata: {} }), []],
])('the owner is recorded for an object %s', async (_, of, superseded) => {
  const { managed, object: written, identity } = await manage(of, { kind: SETTINGS });
  await ensureAttachedTo(managed, wanted);
  const { retiring, ...recorded } = await identity();
  expect(recorded).toEqual({ externalId: 'thg_1', generation: 0, createKey: undefined });
  expect(retiring.map(({ id }) => id)).toEqual(superseded);
  expect((await written()).metadata.finalizers).toContain(FINALIZER);
});

test.each([
  ['none, so that there is nothing to claim', {}, true],
  ['some, which may have another manager', { tls: {} }, false],
])('an owner is recorded with its manager if it has modules: %s', async (_, modules, isClaimed) => {
  const { managed, object: written } = await manage(belongsTo('thg_2'), { kind: SETTINGS });
  await ensureAttachedTo(managed, Object.assign({ ...wanted }, { modules }));
  const { annotations } = (await written()).metadata;
  expect(annotations?.[ANNOTATION.manager]).toBe(isClaimed ? managed.manager.id : undefined);
});

test('an owner is not written if it is recorded already, or for a stale object', async () => {
  const { managed, cluster } = await manage(belongsTo('thg_1', ['thg_2']), { kind: SETTINGS });
  await ensureAttachedTo(managed, wanted);
  await ensureOwnerShown(managed);
  expect(cluster.writes()).toEqual([]);
  const stale = await manage(belongsTo('thg_2'), { kind: SETTINGS });
  await stale.outdate();
  await expect(ensureAttachedTo(stale.managed, wanted)).rejects.toThrow(StaleObject);
});

test.each<[string, object]>([
  ['for the first time', {}],
  ['in place of another', { id: 'thg_2', createGeneration: 0 }],
])('the status shows an owner %s, and is about no generation yet', async (_, before) => {
  const of = object({ status: { ...before, observedGeneration: 1 } }, { externalId: 'thg_1' });
  const { managed, object: written } = await manage(of, { kind: SETTINGS });
  await ensureOwnerShown(managed);
  expect(readStatus(await written())).toEqual({
    conditions: [],
    id: 'thg_1',
    createGeneration: 0,
    observedGeneration: -1,
  });
});

const rival = belongsTo('thg_1', [], { name: 'rival' });
const wiped = object({}, { externalId: 'thg_1' });

const failed = object({ status: { conditions: [condition('Ready', 'False')] } }, { externalId: 'thg_1' });
const shown = object({ status: { id: 'thg_2', createGeneration: 0 } }, { externalId: 'thg_1' });
test.each<[string, string | undefined, KubeObject, { mayAdopt?: boolean; others?: KubeObject[] }]>([
  ['is restored from the annotations', 'thg_1', wiped, {}],
  ['is not restored where nothing may be adopted', undefined, wiped, { mayAdopt: false }],
  ['is not restored while another object has the modules', undefined, wiped, { others: [rival] }],
  ['is not restored if nothing is recorded', undefined, object(), {}],
  ['is not restored after failures alone', undefined, failed, {}],
  ['stays, if there is one', 'thg_2', shown, {}],
])('the owner in the status %s', async (_, expected, of, setting) => {
  const { managed, object: written } = await manage(of, { ...setting, kind: SETTINGS });
  await restoreOwnerShown(managed);
  expect(readStatus(await written()).id).toBe(expected);
});

const isDeleted = { deletionTimestamp: '2026-11-21T10:00:00Z' };
const replaced = JSON.stringify([{ id: 'own_0', generation: 1, after: '2026-11-21T10:00:00Z' }]);
const owner = (fields: Parameters<typeof object>[0], annotations = {}) =>
  object({ name: 'owner', kind: 'Owner', ...fields, status: { id: 'own_1' } }, annotations);

test.each<[string, boolean, string, ReturnType<typeof object>]>([
  ['that is about to be deleted', true, 'own_1', owner({ metadata: isDeleted })],
  ['that another has replaced', true, 'own_0', owner({}, { retiring: replaced })],
  ['that is unknown', false, 'own_2', owner({ metadata: isDeleted }, { retiring: replaced })],
  ['that stays', false, 'own_1', owner({}, { retiring: replaced })],
  ['that outlives its object', false, 'own_1', owner({ metadata: isDeleted, spec: { deletionPolicy: 'Retain' } })],
  ['that is only observed', false, 'own_1', owner({ metadata: isDeleted, spec: { managementPolicy: 'Observe' } })],
])('settings of a resource %s go with it: %s', (_, goes, ownerId, known) => {
  const inputs = owners(known);
  const settings = object({ kind: 'Thing', metadata: { namespace: NAMESPACE } });
  const goesWith = (isAttached: boolean) =>
    goesWithOwner({ kind: { name: 'Thing', isAttached, inputs }, object: settings } as ManagedObject, ownerId);
  expect(goesWith(true)).toBe(goes);
  // An object with a resource of its own does not go with an owner.
  expect(goesWith(false)).toBe(false);
});
