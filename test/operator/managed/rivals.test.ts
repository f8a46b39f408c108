import { expect, test } from 'vitest';
import { isCreatedIn } from '../../../src/operator/managed/rivals.ts';

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
