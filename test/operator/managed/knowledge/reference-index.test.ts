import { expect, test } from 'vitest';
import { z } from 'zod';
import { Reference, Source } from '../../../../src/operator/managed/declaration/input.ts';
import { objectKey, ReferenceIndex, targetOf } from '../../../../src/operator/managed/knowledge/reference-index.ts';

const [route, other] = [objectKey('HTTPSEdgeRoute', 'a', 'r'), objectKey('HTTPSEdgeRoute', 'a', 'other')];
const [edge, away, office] = [
  objectKey('HTTPSEdge', 'a', 'e'),
  objectKey('HTTPSEdge', 'b', 'e'),
  objectKey('X', 'a', 'o'),
];

test('the index knows the referrers and targets of objects, and forgets them', () => {
  const index = new ReferenceIndex();
  index.set(route, new Set([edge, away, office]));
  index.set(other, new Set([edge]));
  expect([...index.referrersOf(edge)]).toEqual([route, other]);
  expect([index.referrersOfKind('HTTPSEdge'), index.referrersOfKind('X')]).toEqual([[route, other], [route]]);
  expect(['a', 'b', undefined].map((into) => index.crossingInto(into))).toEqual([[], [route], [route]]);
  index.set(route, new Set([office]));
  expect([[...index.referrersOf(edge)], [...index.referrersOf(away)]]).toEqual([[other], []]);
  expect([...index.targetsOf(route)]).toEqual([office]);
  index.set(route, new Set());
  expect([...index.referrersOf(office), ...index.targetsOf(route), ...index.crossingInto(undefined)]).toEqual([]);
});

test.each([
  [new Reference({ kind: 'IPPolicy', name: 'a' }), 'IPPolicy/here/a'],
  [new Reference({ kind: 'IPPolicy', name: 'a', namespace: 'there' }), 'IPPolicy/there/a'],
  [new Source({ kind: 'Secret', name: 'a', key: 'k' }, z.string()), 'Secret/here/a'],
])('the target of an input is found by its key: %#', (input, expected) => {
  expect(targetOf({ input }, 'here')).toBe(expected);
});
