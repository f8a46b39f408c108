/** Reconciles objects that declare modules of an edge, to which they refer by id; the edges are in memory. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ANNOTATION, FINALIZER } from '../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { AttachedReconciler } from '../../../src/operator/managed/attached-reconciler.ts';
import type { Remote, Sight } from '../../../src/operator/managed/declaration/external.ts';
import { managedSpec } from '../../../src/operator/managed/declaration/spec.ts';
import { readStatus } from '../../../src/operator/managed/identity/recorded-status.ts';
import { object } from '../objects.ts';
import { type Circumstances, managing } from './managed-under-test.ts';

const spec = z.object({ ...managedSpec, ownerId: z.string() });
const kind = {
  spec,
  readMembers: (given: unknown) => spec.parse(given),
  owner: { kind: 'Edge', givenIn: ({ ownerId }: z.output<typeof spec>) => ownerId, modulesIn: () => ['tls'] },
};

interface Setting extends Circumstances {
  /** The existing edges, and whether they have the modules. */
  edges?: Record<string, boolean>;
  sight?: Sight;
}

async function reconciling(of: KubeObject, { edges = { one: false, two: false }, sight, ...more }: Setting = {}) {
  const remotes = new Map(Object.entries(edges));
  const done: string[] = [];
  const remote = (id: string): Remote => ({ id, uri: `https://api.test/${id}` });
  const external = {
    isId: (id: string) => ['one', 'two'].includes(id),
    observe: async (id: string) => (remotes.has(id) ? remote(id) : undefined),
    changes: (_: unknown, { id }: Remote) => (remotes.get(id) ? [] : ['modules']),
    async update(known: Remote) {
      done.push(`set at ${known.id}, shown: ${readStatus(await world.stored()).id}`);
      remotes.set(known.id, true);
      return known;
    },
    async delete(id: string) {
      done.push(`deleted at ${id}`);
      return remotes.has(id) ? ('deleted' as const) : ('not found' as const);
    },
    sight: async () => sight ?? ('everything' as const),
  };
  const world = await managing(of, { kind, external, ...more });
  const reconciler = new AttachedReconciler(world.access);
  const condition = async (type: string) =>
    readStatus(await world.stored()).conditions?.find((each) => each.type === type);
  return { ...world, done, condition, reconciler, reconcile: () => reconciler.reconcile(world.managed.object) };
}

const finalizers = [FINALIZER];
const declaring = (ownerId: string, more: Parameters<typeof object>[0] = {}, annotations = {}) =>
  object({ ...more, spec: { ownerId, ...Object(more.spec) }, metadata: { finalizers, ...more.metadata } }, annotations);
const settled = { externalId: 'one' };
const shown = { id: 'one', createGeneration: 0 };
const moved = ['set at two, shown: two', 'deleted at one'];

test.each<[string, KubeObject, Setting, string[]]>([
  ['are set once the status shows their owner', object({ spec: { ownerId: 'one' } }), {}, ['set at one, shown: one']],
  ['stay as they are', declaring('one'), { edges: { one: true } }, []],
  ['move to the new owner before they leave the old one', declaring('two', { status: shown }, settled), {}, moved],
  ['move even if the annotations were lost', declaring('two', { status: shown }), {}, moved],
])('modules %s', async (_, of, setting, expected) => {
  const { reconcile, done, stored, condition } = await reconciling(of, setting);
  expect(await reconcile()).toEqual({ object: await stored() });
  expect(done).toEqual(expected);
  const { ownerId } = spec.parse({ ...Object(of.spec) });
  const { metadata, ...now } = await stored();
  expect(metadata).toMatchObject({ finalizers, annotations: { [ANNOTATION.externalId]: ownerId } });
  expect(metadata.annotations).not.toHaveProperty([ANNOTATION.retiring]);
  expect(now.status).toMatchObject({ id: ownerId, createGeneration: 0 });
  expect([(await condition('Ready'))?.status, (await condition('Synced'))?.status]).toEqual(['True', 'True']);
});

test('superseded modules that are not due yet are requeued', async () => {
  const retiring = [{ id: 'two', generation: 0, after: new Date(Date.now() + 3_600_000).toISOString() }];
  const of = declaring('one', { status: { ...shown, retiring } }, { ...settled, retiring: JSON.stringify(retiring) });
  const { reconcile } = await reconciling(of);
  expect((await reconcile()).requeueAfterMs).toBeGreaterThan(0);
});

const rival = declaring('one', { name: 'other', status: shown }, settled);
const sight = { ownerId: 'usr_1', mayBeAdmin: true };
const observing = { spec: { managementPolicy: 'Observe' } };
test.each<[string, KubeObject, Setting, string]>([
  ['another object has them', declaring('one'), { others: [rival] }, 'ManagementConflict'],
  ['the owner does not exist', declaring('one'), { edges: {} }, 'ExternalNotFound'],
  ['the observed owner does not exist', declaring('one', observing), { edges: {} }, 'ExternalNotFound'],
  ['the owner may be hidden', declaring('one'), { edges: {}, sight }, 'AccessDenied'],
])('no modules are set if %s', async (_, of, setting, reason) => {
  const { reconcile, done } = await reconciling(of, setting);
  await expect(reconcile()).rejects.toMatchObject({ reason });
  expect(done).toEqual([]);
});

test('a lost finalizer is restored even if the spec is invalid', async () => {
  const of = declaring('one', { status: shown, spec: { ownerId: 1 }, metadata: { finalizers: [] } }, settled);
  const { reconcile, stored } = await reconciling(of, {
    kind: { ...kind, readMembers: () => spec.parse({ ownerId: '' }) },
  });
  await expect(reconcile()).rejects.toMatchObject({ message: expect.stringContaining('spec.ownerId') });
  expect((await stored()).metadata.finalizers).toEqual(finalizers);
});

test('a paused object is left alone, but shows its owner', async () => {
  const { reconcile, done, condition, stored } = await reconciling(declaring('two', {}, { ...settled, paused: '' }));
  await reconcile();
  const reasons = [(await condition('Synced'))?.reason, (await condition('Ready'))?.reason];
  expect([done, ...reasons]).toEqual([[], 'Paused', 'Paused']);
  expect(readStatus(await stored()).id).toBe('one');
});

test('deleting an object deletes its modules; a finalized object is not written', async () => {
  const deleting = { finalizers, deletionTimestamp: 't' };
  const { reconcile, done, cluster } = await reconciling(
    declaring('one', { status: shown, metadata: deleting }, settled),
  );
  await reconcile();
  expect([done, await cluster.find('samples', 'a')]).toEqual([['deleted at one'], undefined]);
  const held = await reconciling(declaring('one', { metadata: { ...deleting, finalizers: ['other'] } }, settled));
  await held.reconcile();
  expect(held.cluster.writes()).toEqual([]);
});

test('a failure is shown in the conditions', async () => {
  const { reconciler, condition, stored, managed } = await reconciling(declaring('one'));
  const failure = { reason: 'Rejected', message: 'm', keepReady: false } as const;
  expect(await reconciler.recordFailure(managed.object, failure)).toEqual(await stored());
  expect(await condition('Ready')).toMatchObject({ status: 'False', reason: 'Rejected', message: 'm' });
});

test('an object that only observes shows the modules and how they differ', async () => {
  const { reconcile, done, condition, stored } = await reconciling(declaring('one', observing));
  expect(await reconcile()).toEqual({ object: await stored() });
  expect(done).toEqual([]);
  expect(await condition('Ready')).toMatchObject({ status: 'True', message: 'one exists' });
  expect(await condition('Synced')).toMatchObject({ message: 'Only observed; differs in spec.modules' });
  expect(readStatus(await stored()).id).toBe('one');
});
