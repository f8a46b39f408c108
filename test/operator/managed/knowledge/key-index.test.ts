/** The objects that have to do with an id. */
import { expect, test } from 'vitest';
import { type ObjectChange, statesOf } from '../../../../src/operator/kube/object-store.ts';
import { KeyIndex } from '../../../../src/operator/managed/knowledge/key-index.ts';
import { object } from '../../objects.ts';

const naming = (...ids: string[]) => object({ spec: { ids } });
const idsOf = ({ spec }: ReturnType<typeof naming>) => (spec as { ids: string[] }).ids;
const added = (key: string, ...ids: string[]): ObjectChange => ({ type: 'added', key, object: naming(...ids) });
const updated = (key: string, before: string[], after: string[]): ObjectChange => ({
  type: 'updated',
  key,
  previous: naming(...before),
  object: naming(...after),
});
const gone = (key: string, ...ids: string[]): ObjectChange => ({ type: 'deleted', key, object: naming(...ids) });

test.each<[string, ObjectChange[], Record<string, string[]>]>([
  ['none at first', [], { x: [] }],
  ['those that name it', [added('a', 'x', 'y'), added('b', 'x')], { x: ['a', 'b'], y: ['a'], z: [] }],
  [
    'those that go on naming it, in their place',
    [added('a', 'x', 'y'), added('b', 'x'), updated('a', ['x', 'y'], ['x', 'z'])],
    { x: ['a', 'b'], y: [], z: ['a'] },
  ],
  [
    'those that name it again, at the end',
    [added('a', 'x'), added('b', 'x'), updated('a', ['x'], []), updated('a', [], ['x'])],
    { x: ['b', 'a'] },
  ],
  ['not those that are gone', [added('a', 'x'), added('b', 'x'), gone('a', 'x')], { x: ['b'] }],
  ['not what was never there', [gone('a', 'x'), updated('b', ['x'], ['y'])], { x: [], y: ['b'] }],
])('are %s', (_, changes, expected) => {
  const index = new KeyIndex(idsOf);
  for (const change of changes) index.onChange(change);
  expect(Object.fromEntries(Object.keys(expected).map((id) => [id, index.keysOf(id)]))).toEqual(expected);
});

test('a change has the object before and after it, where there is one', () => {
  const [old, present] = [naming('x'), naming('y')];
  expect(statesOf({ type: 'added', key: 'a', object: present })).toEqual({ before: undefined, after: present });
  expect(statesOf({ type: 'updated', key: 'a', previous: old, object: present })).toEqual({
    before: old,
    after: present,
  });
  expect(statesOf({ type: 'deleted', key: 'a', object: present })).toEqual({ before: present, after: undefined });
});
