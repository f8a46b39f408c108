/** The reconcile of objects that have settings of what they refer to; the edges they refer to by id are in memory. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ANNOTATION, FINALIZER } from '../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { AttachedReconciler } from '../../../src/operator/managed/attached-reconciler.ts';
import type { Remote, Sight } from '../../../src/operator/managed/declaration/external.ts';
import { managedSpec } from '../../../src/operator/managed/declaration/spec.ts';
import { readStatus } from '../../../src/operator/managed/identity/recorded-status.ts';
import { object } from '../objects.ts';
import { type Circumstances, managing } from './managing.ts';

const spec = z.object({ ...managedSpec, ownerId: z.string() });
const kind = {
  spec,
  readMembers: (given: unknown) => spec.parse(given),
  owner: { kind: 'Edge', givenIn: ({ ownerId }: { ownerId: string }) => ownerId, modulesIn: () => ['tls'] },
};

interface Setting extends Circumstances {
  /** The edges there are, and whether they have the modules. */
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
      // What is shown by then is what is deleted later on.
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

describe('modules', () => {
  test('are set where the spec says, once the object is known to have them', async () => {
    const { reconcile, done, stored, condition } = await reconciling(object({ spec: { ownerId: 'one' } }));
    expect(await reconcile()).toEqual({ object: await stored() });
    expect(done).toEqual(['set at one, shown: one']);
    expect((await stored()).metadata).toMatchObject({ finalizers, annotations: { [ANNOTATION.externalId]: 'one' } });
    expect(readStatus(await stored())).toMatchObject(shown);
    expect([(await condition('Ready'))?.status, (await condition('Synced'))?.status]).toEqual(['True', 'True']);
  });

  test('that are there already stay as they are', async () => {
    const { reconcile, done, condition } = await reconciling(declaring('one'), { edges: { one: true } });
    await reconcile();
    expect([done, (await condition('Ready'))?.status]).toEqual([[], 'True']);
  });

  test('move: where they were they are deleted when they are set at the new owner', async () => {
    const { reconcile, done, stored } = await reconciling(declaring('two', { status: shown }, settled));
    await reconcile();
    expect(done).toEqual(['set at two, shown: two', 'deleted at one']);
    expect((await stored()).metadata.annotations).not.toHaveProperty([ANNOTATION.retiring]);
    expect(readStatus(await stored())).toMatchObject({ id: 'two', createGeneration: 0 });
  });

  test('move also when the annotations were lost', async () => {
    const { reconcile, done } = await reconciling(declaring('two', { status: shown }));
    await reconcile();
    expect(done).toEqual(['set at two, shown: two', 'deleted at one']);
  });

  test('that cannot go yet are tried again', async () => {
    const retiring = [{ id: 'two', generation: 0, after: new Date(Date.now() + 3_600_000).toISOString() }];
    const of = declaring('one', { status: { ...shown, retiring } }, { ...settled, retiring: JSON.stringify(retiring) });
    const { reconcile } = await reconciling(of);
    expect((await reconcile()).requeueAfterMs).toBeGreaterThan(0);
  });

  test('are set nowhere that another object has them', async () => {
    const rival = declaring('one', { name: 'other', status: shown }, settled);
    const { reconcile, done } = await reconciling(declaring('one'), { others: [rival] });
    await expect(reconcile()).rejects.toMatchObject({ reason: 'ManagementConflict' });
    expect(done).toEqual([]);
  });

  test('are set nowhere that does not exist, or cannot be seen', async () => {
    const gone = await reconciling(declaring('one'), { edges: {} });
    await expect(gone.reconcile()).rejects.toMatchObject({
      reason: 'ExternalNotFound',
      message: 'one does not exist: there is nothing to set the modules of; correct the reference',
    });
    const sight = { ownerId: 'usr_1', mayBeAdmin: true };
    const hidden = await reconciling(declaring('one', { status: { ...shown, ownerId: 'usr_2' } }), {
      edges: {},
      sight,
    });
    await expect(hidden.reconcile()).rejects.toMatchObject({ reason: 'AccessDenied' });
    const unknown = await reconciling(declaring('one'), { edges: {}, sight });
    await expect(unknown.reconcile()).rejects.toMatchObject({ message: expect.stringContaining('one') });
  });

  test('of an object with a finalizer that somebody has removed are held again, whatever else is wrong', async () => {
    const of = declaring('one', { status: shown, spec: { ownerId: 1 }, metadata: { finalizers: [] } }, settled);
    const { reconcile, stored } = await reconciling(of, { kind: { ...kind, readMembers: () => ({}) } });
    await expect(reconcile()).rejects.toMatchObject({ message: expect.stringContaining('spec.ownerId') });
    expect((await stored()).metadata.finalizers).toEqual(finalizers);
  });
});

describe('an object', () => {
  test('that is paused does nothing but say so, and show what it has', async () => {
    const { reconcile, done, condition, stored } = await reconciling(declaring('two', {}, { ...settled, paused: '' }));
    expect(await reconcile()).toEqual({ object: await stored() });
    expect([done, (await condition('Synced'))?.reason, await condition('Ready')]).toEqual([[], 'Paused', undefined]);
    expect(readStatus(await stored()).id).toBe('one');
  });

  test('that is deleted deletes its modules, and is let go', async () => {
    const of = declaring('one', { status: shown, metadata: { finalizers, deletionTimestamp: 't' } }, settled);
    const { reconcile, done, cluster } = await reconciling(of);
    await reconcile();
    expect(done).toEqual(['deleted at one']);
    expect(await cluster.find('samples', 'a')).toBeUndefined();
  });

  test('that is deleted shows nothing that it did not', async () => {
    const of = declaring('one', { metadata: { finalizers: ['other'], deletionTimestamp: 't' } }, settled);
    const { reconcile, cluster } = await reconciling(of);
    await reconcile();
    expect(cluster.writes()).toEqual([]);
  });

  test('shows why its reconcile failed', async () => {
    const of = declaring('one');
    const { reconciler, condition, stored, managed } = await reconciling(of);
    const failed = await reconciler.recordFailure(managed.object, {
      reason: 'Rejected',
      message: 'm',
      keepReady: false,
    });
    expect(failed).toEqual(await stored());
    expect(await condition('Ready')).toMatchObject({ status: 'False', reason: 'Rejected', message: 'm' });
  });
});

describe('an object that only observes', () => {
  const observe = { managementPolicy: 'Observe' };
  const observing = (ownerId: string, more: Parameters<typeof object>[0] = {}, annotations = {}) =>
    declaring(ownerId, { ...more, spec: observe }, annotations);

  test('shows what is there, and how it differs, and sets nothing', async () => {
    const { reconcile, done, condition, stored } = await reconciling(observing('one'));
    expect(await reconcile()).toEqual({ object: await stored() });
    expect(done).toEqual([]);
    expect(await condition('Ready')).toMatchObject({ status: 'True', message: 'one exists' });
    expect(await condition('Synced')).toMatchObject({ message: 'Only observed; differs in spec.modules' });
    expect(readStatus(await stored()).id).toBe('one');
  });

  test('says that what it is to observe is not there', async () => {
    const { reconcile } = await reconciling(observing('one'), { edges: {} });
    await expect(reconcile()).rejects.toMatchObject({ reason: 'ExternalNotFound' });
  });
});
