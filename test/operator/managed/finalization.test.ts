import { expect, test } from 'vitest';
import { Blocked } from '../../../src/operator/managed/external.ts';
import { fateOfRemote } from '../../../src/operator/managed/finalization.ts';
import { object } from '../objects.ts';

test.each([
  ['goes with its object', {}, false, 'delete'],
  ['stays when that is declared', { deletionPolicy: 'Retain' }, false, 'retain'],
  ['stays when it was only observed', { managementPolicy: 'Observe' }, false, 'retain'],
  ['is not touched when an older object has it', {}, true, 'not-ours'],
  [
    'is not touched when an older object has it, nor its Secret released',
    { deletionPolicy: 'Retain' },
    true,
    'not-ours',
  ],
  ['goes, whatever else is wrong in the spec', { rules: 'no list' }, false, 'delete'],
] as const)('the resource %s', (_, spec, hasRival, expected) => {
  expect(fateOfRemote(object({ spec }), hasRival)).toBe(expected);
});

test('the resource of an object with an unknown policy is not touched', () => {
  expect(() => fateOfRemote(object({ spec: { deletionPolicy: 'Orphan' } }), false)).toThrow(Blocked);
});
