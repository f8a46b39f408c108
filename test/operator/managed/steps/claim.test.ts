import { expect, test, vi } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import { KubeApi } from '../../../../src/operator/kube/kube-api.ts';
import { KubeError } from '../../../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { readIdentity } from '../../../../src/operator/managed/identity/identity.ts';
import type { Cluster } from '../../../../src/operator/managed/identity/manager.ts';
import { classify, otherManager } from '../../../../src/operator/managed/object/failure.ts';
import {
  claimedBy,
  ensureClaimed,
  ensureReleased,
  release,
  tryToClaim,
} from '../../../../src/operator/managed/steps/claim.ts';
import type { Manager } from '../../../../src/resources/definition/manager.ts';
import { condition, object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { NAMESPACE } from '../placing.ts';
import { Things } from '../things.ts';

const elsewhere: Manager = { id: 'there/u1', namespace: 'shop', kind: 'Thing', name: 'a' };
/** A manager of this cluster with a name that no object has. */
const gone: Manager = { id: 'here/u1', namespace: NAMESPACE, kind: 'Thing', name: 'gone' };

interface Setting {
  /** The recorded manager. */
  by?: Manager;
  cluster?: Cluster | undefined;
  others?: readonly KubeObject[];
}

async function claiming(of: KubeObject, { by, cluster, others = [] }: Setting = {}) {
  const things = new Things('thg_1');
  if (by) things.managers.set('thg_1', by);
  return manage(of, { things, others, ...(cluster && { cluster }) });
}

test('an upgraded or restored object claims what it has, once', async () => {
  const retiring = JSON.stringify([{ id: 'thg_0', generation: 1, after: '2026-11-21T12:00:00Z' }]);
  const { managed, things, object: stored } = await claiming(object({}, { externalId: 'thg_1', retiring }));
  await ensureClaimed(managed);
  expect(things.managed).toEqual(['claim thg_0', 'claim thg_1']);
  expect((await stored()).metadata.annotations?.[ANNOTATION.manager]).toBe(managed.manager.id);
  await ensureClaimed(managed);
  expect(things.managed).toHaveLength(2);
});

test.each([
  ['without a resource', object({}, { createGeneration: '1' })],
  ['that only observes', object({ spec: { managementPolicy: 'Observe' } }, { externalId: 'thg_1' })],
])('an object %s claims nothing', async (_, of) => {
  const { managed, things } = await claiming(of);
  await ensureClaimed(managed);
  expect(things.managed).toEqual([]);
});

test('a copy claims nothing that the original manages in another cluster, and says who does', async () => {
  const copy = object({}, { externalId: 'thg_1', manager: elsewhere.id });
  const { managed, things, object: stored } = await claiming(copy, { by: elsewhere });
  const refusal = await ensureClaimed(managed).catch((error: unknown) => error);
  expect(otherManager(refusal)).toEqual(elsewhere);
  expect(classify(refusal)).toEqual({
    kind: 'terminal',
    reason: 'ManagementConflict',
    message: expect.stringMatching(
      /thg_1 is managed by the Thing shop\/a of the cluster there: .*take-over.* to there\/u1$/,
    ),
  });
  expect(things.managers.get('thg_1')).toEqual(elsewhere);
  expect((await stored()).metadata.annotations?.[ANNOTATION.manager]).toBe(elsewhere.id);
});

test('a copy in the same cluster is left to the rule for the objects that the operator knows', async () => {
  const original = object(
    { name: 'b', uid: 'u2', status: { id: 'thg_1', createGeneration: 1 } },
    { externalId: 'thg_1' },
  );
  const { managed, things } = await claiming(object({}, { externalId: 'thg_1' }), { others: [original] });
  await ensureClaimed(managed);
  expect(things.managed).toEqual([]);
});

const lost: Cluster = { id: 'here', takesOverFrom: ['there'] };

test.each<[string, Manager, Parameters<typeof object>[1], Cluster | undefined, boolean]>([
  ['of another cluster', elsewhere, {}, undefined, false],
  ['that the annotation names', elsewhere, { takeOver: elsewhere.id }, undefined, true],
  ['that the annotation does not name', elsewhere, { takeOver: 'there/u0' }, undefined, false],
  ['of a lost cluster', elsewhere, {}, lost, true],
  ['whose object is gone', gone, {}, undefined, true],
  ['whose object was made again', { ...gone, name: 'b' }, {}, undefined, true],
  ['of another kind', { ...gone, kind: 'Other' }, {}, undefined, false],
])('a resource is taken over from a manager %s, or not', async (_, by, annotations, cluster, isTaken) => {
  const of = object({}, { externalId: 'thg_1', ...annotations });
  const { managed, things, events } = await claiming(of, { by, cluster, others: [object({ name: 'b' })] });
  expect(await tryToClaim(managed, 'thg_1')).toBe(isTaken);
  expect(things.managers.get('thg_1')).toEqual(isTaken ? managed.manager : by);
  expect(await events()).toEqual(isTaken ? [expect.stringMatching(/^TakenOver: Took over thg_1 from the Thing /)] : []);
});

test('a manager that may not be looked for keeps its resource', async () => {
  const { managed, things } = await claiming(object({}, { externalId: 'thg_1' }), { by: gone });
  const forbidden = new KubeError(403, 'Forbidden', 'not allowed');
  vi.spyOn(KubeApi.prototype, 'find').mockRejectedValueOnce(forbidden);
  expect(await tryToClaim(managed, 'thg_1')).toBe(false);
  expect(things.managers.get('thg_1')).toEqual(gone);
});

test('an object whose resource was taken over claims it again once the other lets go', async () => {
  const conflict = condition('Ready', 'False', { reason: 'ManagementConflict' });
  const of = object({ status: { conditions: [conflict] } }, { externalId: 'thg_1' });
  const { managed, things } = await claiming(of, { by: elsewhere });
  await managed.persist(readIdentity(managed.object), claimedBy(managed.manager));
  await expect(ensureClaimed(managed)).rejects.toThrow();
  things.managers.clear();
  await ensureClaimed(managed);
  expect(things.managers.get('thg_1')).toEqual(managed.manager);
});

test('a request to take over counts once', async () => {
  const { managed, object: stored } = await claiming(object({}, { externalId: 'thg_1', takeOver: elsewhere.id }), {
    by: elsewhere,
  });
  await ensureClaimed(managed);
  expect((await stored()).metadata.annotations).not.toHaveProperty([ANNOTATION.takeOver]);
});

test('an object that no longer manages its resource releases it, and nothing that was taken over', async () => {
  const of = object({ spec: { managementPolicy: 'Observe' } }, { externalId: 'thg_1' });
  const { managed, things, object: stored } = await claiming(of);
  await ensureReleased(managed);
  expect(things.managed).toEqual([]);
  await managed.persist(readIdentity(managed.object), claimedBy(managed.manager));
  things.managers.set('thg_1', managed.manager);
  await ensureReleased(managed);
  expect([...things.managers]).toEqual([]);
  expect((await stored()).metadata.annotations).not.toHaveProperty([ANNOTATION.manager]);
  await managed.persist(readIdentity(managed.object), claimedBy(managed.manager));
  things.managers.set('thg_1', elsewhere);
  await release(managed, 'thg_1');
  expect(things.managers.get('thg_1')).toEqual(elsewhere);
});
