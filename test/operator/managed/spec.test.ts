import { expect, test } from 'vitest';
import { lostIdentity } from '../../../src/operator/managed/spec.ts';
import { object } from '../objects.ts';

const retiring = [{ id: 'a', generation: 1, after: '2026-11-21T10:00:00.000Z' }];
const status = { id: 'b', createGeneration: 2, retiring };

test.each([
  ['what the status kept', {}, status, { externalId: 'b', generation: 2, retiring }],
  [
    'what the status kept of an adoption',
    {},
    { id: 'b', createGeneration: 0 },
    { externalId: 'b', generation: 0, retiring: [] },
  ],
  ['nothing when the annotations have the id', { externalId: 'c', createGeneration: '3' }, status, undefined],
  ['nothing between two generations', { createGeneration: '3' }, status, undefined],
  ['nothing of what was only observed', {}, { id: 'b' }, undefined],
  ['nothing without a status', {}, undefined, undefined],
])('the lost identity is %s', (_, annotations, kept, expected) => {
  expect(lostIdentity(object({ status: kept }, annotations))).toEqual(expected);
});
