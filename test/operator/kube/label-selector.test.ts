import { expect, test } from 'vitest';
import { LabelSelector } from '../../../src/operator/kube/label-selector.ts';

const LABELS: Record<string, string>[] = [{}, { a: '1' }, { a: '2' }, { a: '' }, { a: '1', 'x.io/b': 'y' }];

/** The indexes of the LABELS that match; test/e2e/shards.all.test.ts compares selectors with a real API server. */
test.each([
  ['a', [1, 2, 3, 4]],
  ['!a', [0]],
  ['a=1', [1, 4]],
  ['a == 1', [1, 4]],
  ['a=', [3]],
  ['a!=1', [0, 2, 3]],
  ['a in (1, 2)', [1, 2, 4]],
  ['a notin (1,2)', [0, 3]],
  ['a in (1,2),x.io/b', [4]],
  ['a,!x.io/b,a!=2', [1, 3]],
])('the selector %s matches the labels %j', (text, expected) => {
  const selector = LabelSelector.parse(text);
  expect(LABELS.flatMap((labels, index) => (selector?.matches(labels) ? [index] : []))).toEqual(expected);
});

test.each(['', ' ', 'a=1,', ',', 'a=b=c', 'a in', 'a in (1', 'a in 1', '-a', 'a=-', 'a b', 'A/b/c', '=1', 'a>1'])(
  '%j is not a selector',
  (text) => {
    expect(LabelSelector.parse(text)).toBeUndefined();
  },
);

test('a property that every JavaScript object inherits is not a label', () => {
  expect(LabelSelector.parse('constructor')?.matches({})).toBe(false);
});

test.each([
  ['b,a = 1', 'a in (1),b'],
  ['a in (2,1,2), !b', '!b,a in (1,2)'],
  ['a!=1,a notin (1)', 'a notin (1)'],
])('the selector %s is normalised to %s', (text, same) => {
  expect(String(LabelSelector.parse(text))).toBe(same);
});
