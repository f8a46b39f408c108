import { expect, test } from 'vitest';
import {
  conflictWith,
  isCreatedIn,
  mayRetire,
  mustHaveNoRival,
  wasManaged,
} from '../../../../src/operator/managed/object/rivals.ts';
import { object } from '../../objects.ts';
import { type Circumstances, managing, scopeOf } from '../managing.ts';

test.each([
  ['the first', 'ipp_1', true],
  ['the last', 'ipp_2', true],
  ['none of them', 'ipp_3', false],
  ['nothing', undefined, false],
])('a resource is the own of an object in whose scope it was created: %s', (_, id, expected) => {
  const resources = ['ipp_1', 'ipp_2'].map((each, index) => ({ id: each, sequence: index + 1 }));
  expect(isCreatedIn({ resources, nextSequence: 3 }, id)).toBe(expected);
  expect(isCreatedIn({ resources: [], nextSequence: 1 }, id)).toBe(false);
});

test.each([
  [
    'manages it',
    object({ name: 'other', status: { id: 'ipp_1', createGeneration: 0 } }, { externalId: 'ipp_1' }),
    'already managed by',
  ],
  ['only names it', object({ name: 'other' }, { adopt: 'ipp_1' }), 'claimed by'],
])('a conflict tells whether the other object %s', (_, rival, told) => {
  expect(conflictWith(rival, 'IPPolicy', 'ipp_1').message).toContain(`ipp_1 is ${told} the IPPolicy ns/other`);
});

const T = '2026-11-21T10:00:00Z';
const superseding = (id: string) => [{ id, generation: 0, after: T }];
const failing = [{ type: 'Ready', status: 'False', reason: 'R', message: 'm', lastTransitionTime: T }];

test.each([
  ['without a status', {}, true, true],
  ['with a status that shows only a failure', { conditions: failing }, true, false],
  ['with a status that shows it', { id: 'x', createGeneration: 0, conditions: failing }, true, true],
  ['with a status that shows another', { id: 'y', createGeneration: 0 }, false, false],
  ['with one that lists it as superseded', { conditions: failing, retiring: superseding('x') }, true, true],
  ['with one that lists another', { conditions: failing, retiring: superseding('y') }, true, false],
])('what only annotations say of a resource, and of modules, is believed or not %s', (_, status, ofOwn, ofModules) => {
  const recorded = object({ status }, { externalId: 'x' });
  expect(wasManaged({ object: recorded, kind: { isAttached: false } }, 'x')).toBe(ofOwn);
  expect(wasManaged({ object: recorded, kind: { isAttached: true } }, 'x')).toBe(ofModules);
});

const manager = object({ name: 'other', status: { id: 'ipp_1', createGeneration: 0 } }, { externalId: 'ipp_1' });
const claimant = object({}, { adopt: 'ipp_1' });

test('an object is kept from what another one manages, unless it was created for it', async () => {
  const { managed } = await managing(claimant, { others: [manager] });
  await expect(mustHaveNoRival(managed)).rejects.toMatchObject({ reason: 'ManagementConflict' });
  const own = await managing(claimant, { others: [manager], external: { scope: async () => scopeOf('ipp_1') } });
  await expect(mustHaveNoRival(own.managed)).resolves.toBeUndefined();
});

test('of an object whose claim nobody disputes, the API is not asked', async () => {
  const scope = () => Promise.reject(new Error('asked'));
  const { managed } = await managing(claimant, { external: { scope } });
  await expect(mustHaveNoRival(managed)).resolves.toBeUndefined();
});

const knowing = { id: 'ipp_2', createGeneration: 2, retiring: [{ id: 'ipp_1', generation: 1, after: T }] };
const notAdopting = { access: { mayAdopt: () => false } };
test.each<[string, boolean, object, Circumstances, id?: string]>([
  ['without a status, where it may be adopted', true, {}, {}],
  ['without a status, where it may not', false, {}, notAdopting],
  ['when the status knows it', true, knowing, notAdopting],
  ['when the status knows another', false, { id: 'ipp_2', createGeneration: 2 }, {}],
  [
    'when the status knows another, and it may not be adopted',
    false,
    { id: 'ipp_2', createGeneration: 2 },
    notAdopting,
  ],
  ['when it is of another family', false, {}, {}, 'usr_1'],
  ['when another object claims it', false, {}, { others: [manager] }],
])('what an object lists as superseded may be deleted or not %s', async (_, expected, status, about, id = 'ipp_1') => {
  const { managed } = await managing(object({ status }, { externalId: 'ipp_2' }), about);
  expect(mayRetire(managed, id, scopeOf())).toBe(expected);
  expect(mayRetire(managed, id, scopeOf(id))).toBe(true);
});
