import { expect, test } from 'vitest';
import { conflictWith, isCreatedIn, wasManaged } from '../../../src/operator/managed/rivals.ts';
import { object } from '../objects.ts';

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

const failing = [
  { type: 'Ready', status: 'False', reason: 'R', message: 'm', lastTransitionTime: '2026-11-21T10:00:00Z' },
];

test.each([
  ['without a status', {}, true, true],
  ['with a status that shows only a failure', { conditions: failing }, true, false],
  ['with a status that shows it', { id: 'x', createGeneration: 0, conditions: failing }, true, true],
  ['with a status that shows another', { id: 'y', createGeneration: 0 }, false, false],
])('what only annotations say of a resource, and of modules, is believed or not %s', (_, status, ofOwn, ofModules) => {
  const recorded = object({ status }, { externalId: 'x' });
  expect(wasManaged({ object: recorded, kind: { isAttached: false } }, 'x')).toBe(ofOwn);
  expect(wasManaged({ object: recorded, kind: { isAttached: true } }, 'x')).toBe(ofModules);
});
