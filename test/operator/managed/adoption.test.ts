import { expect, test } from 'vitest';
import { adoptedIdentity, idToAdopt } from '../../../src/operator/managed/adoption.ts';
import { object } from '../objects.ts';

const RETIRING = JSON.stringify([{ id: 'y', generation: 1, after: '2026-11-21T12:00:00Z' }]);

test.each([
  ['nothing without the annotation', {}, undefined],
  ['nothing when it is empty', { adopt: '' }, undefined],
  ['what the annotation names', { adopt: 'x' }, 'x'],
  ['nothing once it has that', { adopt: 'x', externalId: 'x' }, undefined],
  ['nothing when it has another', { adopt: 'x', externalId: 'y' }, undefined],
  ['nothing when another is to be replaced', { adopt: 'x', createGeneration: '2', retiring: RETIRING }, undefined],
  ['it although a create was begun', { adopt: 'x', createGeneration: '1' }, 'x'],
])('an object adopts %s', (_, annotations, expected) => {
  expect(idToAdopt(object({}, annotations))).toBe(expected);
});

test.each([
  ['nothing else was created for it', [], { generation: 0, retiring: [] }],
  ['something was: that is retired', [{ id: 'c', sequence: 2 }], { generation: 0, retiring: ['c'] }],
  [
    'it was created for this object itself, which found it again',
    [
      { id: 'c', sequence: 2 },
      { id: 'x', sequence: 1 },
    ],
    { generation: 3, retiring: ['c'] },
  ],
])('an adopted resource is current, and %s', (_, resources, expected) => {
  const now = new Date('2026-11-21T12:00:00Z');
  const { retiring, ...identity } = adoptedIdentity('x', { resources, nextSequence: 4 }, now);
  expect({ ...identity, retiring: retiring.map(({ id }) => id) }).toEqual({
    externalId: 'x',
    createKey: undefined,
    ...expected,
  });
  expect(retiring.every(({ after }) => after === now.toISOString())).toBe(true);
});
