/** What becomes of the claims to modules, which the specs of their objects declare. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { FINALIZER } from '../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { Claims } from '../../../src/operator/managed/claims.ts';
import { readPolicies } from '../../../src/operator/managed/spec.ts';
import { object } from '../objects.ts';

const owned = z.looseObject({ ownerId: z.string() });
const OLD = '2026-11-21T09:00:00Z';
const YOUNG = '2026-11-21T11:00:00Z';
const observing = { spec: { managementPolicy: 'Observe' } };
const retiring = [{ id: 'x', generation: 1, after: YOUNG }];
const superseding = { externalId: 'y', retiring: JSON.stringify(retiring) };
const superseded = { id: 'y', createGeneration: 2, retiring };
const shows = (id: string) => ({ status: { id, createGeneration: 1 } });

/** Of the modules of whatever their specs refer to by `ownerId`. */
const ofModules = (mayAdopt: boolean, objects: readonly KubeObject[]) => {
  const ownerIdIn = ({ spec }: KubeObject) => owned.safeParse(spec).data?.ownerId;
  const attached = {
    membersOf: ({ spec }: KubeObject) => readPolicies(object({ spec })),
    isAttached: true,
    ownerKeyIn: ownerIdIn,
    ownerIdOf: (each: KubeObject) => [ownerIdIn(each)].find((id) => id !== 'unknown'),
    ownerKeysOf: (id: string) => [id],
    belongsTo: (each: KubeObject, id: string) => ownerIdIn(each) === id,
    mayBelong: () => true,
  };
  const store = new ObjectStore();
  const claims = new Claims(attached, store, () => mayAdopt);
  for (const each of objects) for (const change of store.put(each)) claims.onChange(change);
  return claims;
};
const declares = (id: string) => ({ spec: { ownerId: id } });

describe('claims to modules', () => {
  test.each<[string, KubeObject, boolean]>([
    ['only an annotation names it', object({ name: 'old', created: OLD }, { externalId: 'x' }), false],
    ['only an annotation is to adopt it', object({ name: 'old', created: OLD }, { adopt: 'x' }), false],
    ['the spec refers to it', object({ name: 'old', created: OLD, ...declares('x') }, { externalId: 'x' }), true],
    ['the spec refers to another', object({ name: 'old', created: OLD, ...declares('y') }, { externalId: 'x' }), false],
    ['the status confirms it', object({ name: 'old', ...shows('x') }), true],
    ['the spec refers to it, but it is not recorded', object({ name: 'old', created: OLD, ...declares('x') }), false],
  ])('count or not, when %s', (_, other, counts) => {
    for (const mayAdopt of [true, false]) {
      const claims = ofModules(mayAdopt, [other]);
      expect(claims.rivalOf(object({}, { externalId: 'x' }))?.metadata.name).toBe(counts ? 'old' : undefined);
    }
  });

  test('end when the spec refers to something else, which the others are told', () => {
    const previous = object({ name: 'old', ...declares('x') }, { externalId: 'x' });
    const next = object({ name: 'old', version: 2, ...declares('y') }, { externalId: 'x' });
    const claims = ofModules(true, [previous]);
    expect(claims.contestedBy({ type: 'updated', key: 'ns/old', object: next, previous })).toEqual(['x']);
    expect(claims.contestedBy({ type: 'updated', key: 'ns/old', object: previous, previous })).toEqual([]);
  });

  test('pass to who has them, who claims them, and who declares them, the older first', () => {
    const names = [
      object({ name: 'young', created: YOUNG, ...declares('x') }),
      object({ name: 'old', created: OLD, ...declares('x') }),
      object({ name: 'claiming', created: YOUNG, ...declares('x') }, { externalId: 'x' }),
      object({ name: 'holding', created: YOUNG, ...shows('x') }),
      object({ name: 'observing', spec: { ownerId: 'x', ...observing.spec } }),
      object({ name: 'elsewhere', ...declares('y') }, { externalId: 'x' }),
      object({ name: 'deleted', ...declares('x'), metadata: { deletionTimestamp: YOUNG, finalizers: [FINALIZER] } }),
      object({ name: 'self', ...declares('x') }),
    ];
    const heirs = ofModules(true, names).heirsOf('x', object({ name: 'self' }));
    expect(heirs.map(({ metadata }) => metadata.name)).toEqual(['holding', 'claiming', 'old', 'young']);
  });

  test.each<[string, string, string, string[]]>([
    ['of what nothing is known of yet', 'unknown', 'x', ['other']],
    ['not of what both have since come to refer to', 'z', 'x', []],
    ['not of what the object had before', 'unknown', 'z', []],
  ])('pass to who refers to the same, %s', (_, owner, claimed, expected) => {
    const claims = ofModules(true, [object({ name: 'other', ...declares(owner) })]);
    const heirs = claims.heirsOf('x', object({ name: 'self', ...declares(owner) }, { externalId: claimed }));
    expect(heirs.map(({ metadata }) => metadata.name)).toEqual(expected);
  });

  test.each([
    ['to another that nothing is known of', declares('unknown'), declares('y')],
    ['to nothing', {}, {}],
  ])('do not pass to who refers %s', (_, referring, had) => {
    const claims = ofModules(true, [object({ name: 'other', ...referring }, { externalId: 'x' })]);
    expect(claims.heirsOf('x', object({ name: 'self', ...had }, { externalId: 'x' }))).toEqual([]);
  });

  test('end for the owner that the object has superseded', () => {
    const moved = object({ name: 'moved', ...declares('y'), status: superseded }, superseding);
    const claims = ofModules(true, [moved]);
    expect(['x', 'y'].map((id) => claims.isClaimedBy(moved, id))).toEqual([false, true]);
  });
});
