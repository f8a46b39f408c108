import { expect, test } from 'vitest';
import { differing } from '../../../src/operator/managed/comparison.ts';

test.each([
  ['nothing, of equals', { a: 1, b: [1, { c: 2 }] }, { a: 1, b: [1, { c: 2 }] }, []],
  ['what has another value', { a: 1, b: 2 }, { a: 1, b: 3 }, ['b']],
  ['what differs deep down', { a: [{ b: 1 }] }, { a: [{ b: 2 }] }, ['a']],
  ['what is in another order', { a: [1, 2] }, { a: [2, 1] }, ['a']],
  ['what is not there', { a: null }, {}, ['a']],
  ['nothing that is not declared', { a: 1 }, { a: 1, b: 2 }, []],
])('differing names %s', (_, wanted, observed, expected) => {
  expect(differing(wanted, observed)).toEqual(expected);
});
