import { expect, test } from 'vitest';
import { cacheProblems } from '../../../src/operator/controller/readiness.ts';

test.each([
  ['nothing, when all were heard of lately', [0, 60_000], []],
  ['a cache that is not filled', [0, undefined], ['k1: not listed yet']],
  [
    'a cache that was not heard of for longer than two deadlines',
    [60_001, 0],
    ['k0: the watch has been silent for 60 s'],
  ],
])('what keeps a process unready: %s', (_, staleness, expected) => {
  const states = staleness.map((value, index) => ({ name: `k${index}`, staleness: value, missingRight: undefined }));
  expect(cacheProblems(states, 30_000)).toEqual(expected);
});

test('a missing permission keeps it unready, however recent the last message', () => {
  const missingRight = 'not allowed to list ippolicies; grant get, list and watch on ippolicies';
  const states = [undefined, 0].map((staleness, index) => ({ name: `k${index}`, staleness, missingRight }));
  expect(cacheProblems(states, 30_000)).toEqual([`k0: ${missingRight}`, `k1: ${missingRight}`]);
});
