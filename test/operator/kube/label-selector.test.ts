import { expect, test } from 'vitest';
import { LabelSelector } from '../../../src/operator/kube/label-selector.ts';

const LABELS: Record<string, string>[] = [{}, { a: '1' }, { a: '2' }, { a: '' }, { a: '1', 'x.io/b': 'y' }];

/** Which of LABELS, by index. Compared with an API server in test/e2e/shards.test.ts. */
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
])('%s', (text, expected) => {
  const selector = LabelSelector.parse(text);
  expect(LABELS.flatMap((labels, index) => (selector?.matches(labels) ? [index] : []))).toEqual(expected);
});

test.each(['', ' ', 'a=1,', ',', 'a=b=c', 'a in', 'a in (1', 'a in 1', '-a', 'a=-', 'a b', 'A/b/c', '=1', 'a>1'])(
  'not a selector: %j',
  (text) => {
    expect(LabelSelector.parse(text)).toBeUndefined();
  },
);

test('a label that every object inherits is none', () => {
  expect(LabelSelector.parse('constructor')?.matches({})).toBe(false);
});

test.each([
  ['b,a = 1', 'a in (1),b'],
  ['a in (2,1,2), !b', '!b,a in (1,2)'],
  ['a!=1,a notin (1)', 'a notin (1)'],
])('%s is the same as %s', (text, same) => {
  expect(String(LabelSelector.parse(text))).toBe(same);
});
