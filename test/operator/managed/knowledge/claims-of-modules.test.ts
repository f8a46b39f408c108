/** What becomes of the claims to modules, which the specs of their objects declare. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { ObjectStore } from '../../../../src/operator/kube/object-store.ts';
import { readPolicies } from '../../../../src/operator/managed/declaration/spec.ts';
import { Claims } from '../../../../src/operator/managed/knowledge/claims.ts';
import { object } from '../../objects.ts';

const owned = z.looseObject({ ownerId: z.string() });
const OLD = '2026-11-21T09:00:00Z';
const shows = (id: string) => ({ status: { id, createGeneration: 1 } });

/** Of the modules of whatever their specs refer to by `ownerId`. */
const ofModules = (mayAdopt: boolean, objects: readonly KubeObject[]) => {
  const ownerIdIn = ({ spec }: KubeObject) => owned.safeParse(spec).data?.ownerId;
  const attached = {
    membersOf: ({ spec }: KubeObject) => readPolicies(object({ spec })),
    isAttached: true,
    belongsTo: (each: KubeObject, id: string) => ownerIdIn(each) === id,
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
});
