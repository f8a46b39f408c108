import { expect, test } from 'vitest';
import { idToAdopt } from '../../../src/operator/managed/adoption.ts';
import { object } from '../objects.ts';

test.each([
  ['nothing without the annotation', {}, undefined],
  ['nothing when it is empty', { adopt: '' }, undefined],
  ['what the annotation names', { adopt: 'x' }, 'x'],
  ['nothing once it has that', { adopt: 'x', externalId: 'x' }, undefined],
  ['nothing when it has another', { adopt: 'x', externalId: 'y' }, undefined],
  ['nothing when a create was begun', { adopt: 'x', createGeneration: '1' }, undefined],
])('an object adopts %s', (_, annotations, expected) => {
  expect(idToAdopt(object({}, annotations))).toBe(expected);
});
