import { expect, test } from 'vitest';
import {
  conflictWith,
  isCreatedIn,
  mayRetire,
  requireNoRival,
  wasManaged,
} from '../../../../src/operator/managed/object/rivals.ts';
import { object } from '../../objects.ts';
import { type Circumstances, managing } from '../managed-under-test.ts';
import { scopeOf } from '../things.ts';

test('an object owns the resources created in its scope', () => {
  const ids = ['thg_1', 'thg_2', 'thg_3', undefined];
  expect(ids.map((id) => isCreatedIn(scopeOf('thg_1', 'thg_2'), id))).toEqual([true, true, false, false]);
});

const T = '2026-11-21T10:00:00Z';
const retiring = (id: string) => [{ id, generation: 1, after: T }];
const manager = object({ name: 'other', status: { id: 'thg_1', createGeneration: 0 } }, { externalId: 'thg_1' });
const claimant = object({}, { adopt: 'thg_1' });
const superseding = object(
  { name: 'other', status: { id: 'thg_2', createGeneration: 2, retiring: retiring('thg_1') } },
  { externalId: 'thg_2', retiring: JSON.stringify(retiring('thg_1')) },
);

test.each([
  ['manages it', manager, 'already managed by'],
  ['only names it', object({ name: 'other' }, { adopt: 'thg_1' }), 'claimed by'],
  ['has superseded it', superseding, 'superseded, but still managed by'],
])('a conflict says whether the other object %s', (_, rival, told) => {
  expect(conflictWith(rival, 'IPPolicy', 'thg_1').message).toContain(`thg_1 is ${told} the IPPolicy ns/other`);
});

const conditions = [{ type: 'Ready', status: 'False', reason: 'R', message: 'm', lastTransitionTime: T }];

test.each([
  ['without a status', {}, true, true],
  ['with a status that shows only a failure', { conditions }, true, false],
  ['with a status that shows it', { id: 'x', createGeneration: 0, conditions }, true, true],
  ['with a status that shows another', { id: 'y', createGeneration: 0 }, false, false],
  ['with a status that shows another, after an adoption', { id: 'y', createGeneration: 0, adopted: 'x' }, true, false],
  ['with one that lists it as superseded', { conditions, retiring: retiring('x') }, true, true],
  ['with one that lists another', { conditions, retiring: retiring('y') }, true, false],
])('annotations prove that an object managed a resource, or modules, %s: %j', (_, status, ofOwn, ofModules) => {
  const recorded = object({ status }, { externalId: 'x' });
  expect(wasManaged({ object: recorded, kind: { isAttached: false } }, 'x')).toBe(ofOwn);
  expect(wasManaged({ object: recorded, kind: { isAttached: true } }, 'x')).toBe(ofModules);
});

test.each<[string, Circumstances, string | undefined]>([
  ['another object manages it', { others: [manager] }, 'ManagementConflict'],
  ['the object created it', { others: [manager], external: { scope: async () => scopeOf('thg_1') } }, undefined],
  ['no other object claims it', { external: { scope: () => Promise.reject(new Error('asked')) } }, undefined],
])('whether an object may manage the resource that it claims when %s', async (_, circumstances, reason) => {
  const { managed } = await managing(claimant, circumstances);
  const outcome = requireNoRival(managed).catch((error: object) => error);
  if (reason === undefined) expect(await outcome).toBeUndefined();
  else expect(await outcome).toMatchObject({ reason });
});

const another = { id: 'thg_2', createGeneration: 2 };
const notAdopting = { access: { mayAdopt: () => false } };
test.each<[string, boolean, object, Circumstances, id?: string]>([
  ['without a status, where it may be adopted', true, {}, {}],
  ['without a status, where it may not', false, {}, notAdopting],
  ['when the status knows it', true, { ...another, retiring: retiring('thg_1') }, notAdopting],
  ['when the status knows another', false, another, {}],
  ['when it is of another family', false, {}, {}, 'usr_1'],
  ['when another object claims it', false, {}, { others: [manager] }],
])('whether a resource listed as superseded may be deleted %s', async (_, expected, status, about, id = 'thg_1') => {
  const { managed } = await managing(object({ status }, { externalId: 'thg_2' }), about);
  expect(mayRetire(managed, id, scopeOf())).toBe(expected);
  expect(mayRetire(managed, id, scopeOf(id))).toBe(true);
});
