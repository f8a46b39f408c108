import { expect, test } from 'vitest';
import { LabelSelector, type LabelSelectorObject } from '../../../src/operator/kube/label-selector.ts';

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

const expression = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', ...values: string[]) => ({
  matchExpressions: [{ key: 'a', operator, values }],
});
test.each<[string, LabelSelectorObject, number[]]>([
  ['an empty selector', {}, [0, 1, 2, 3, 4]],
  ['labels', { matchLabels: { a: '1' } }, [1, 4]],
  ['several labels', { matchLabels: { a: '1', 'x.io/b': 'y' } }, [4]],
  ['an empty label', { matchLabels: { a: '' } }, [3]],
  ['In', expression('In', '1', '2'), [1, 2, 4]],
  ['NotIn', expression('NotIn', '1', '2'), [0, 3]],
  ['Exists', expression('Exists'), [1, 2, 3, 4]],
  ['DoesNotExist', expression('DoesNotExist'), [0]],
  ['labels and expressions', { matchLabels: { 'x.io/b': 'y' }, ...expression('NotIn', '1') }, []],
])('%s in an object selects as in the API server', (_, selector, expected) => {
  const read = LabelSelector.fromObject(selector);
  expect(LABELS.flatMap((labels, index) => (read.matches(labels) ? [index] : []))).toEqual(expected);
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
