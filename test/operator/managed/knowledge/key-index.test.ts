/** The objects that name an id. */
import { expect, test } from 'vitest';
import type { ObjectChange } from '../../../../src/operator/kube/object-store.ts';
import { KeyIndex } from '../../../../src/operator/managed/knowledge/key-index.ts';
import { object } from '../../objects.ts';

const naming = (ids: string) => object({ spec: { ids } });
const idsOf = ({ spec }: ReturnType<typeof naming>) => [...(spec as { ids: string }).ids];
/** @param before, after the ids, one letter each; undefined if there is no object */
function change(key: string, before: string | undefined, after: string | undefined): ObjectChange {
  if (after === undefined) return { type: 'deleted', key, object: naming(before ?? '') };
  if (before === undefined) return { type: 'added', key, object: naming(after) };
  return { type: 'updated', key, previous: naming(before), object: naming(after) };
}
const both = [change('a', undefined, 'xy'), change('b', undefined, 'x')];

test.each<[string, ObjectChange[], Record<string, string[]>]>([
  ['all that name it', both, { x: ['a', 'b'], y: ['a'], z: [] }],
  ['those that still name it, in their order', [...both, change('a', 'xy', 'xz')], { x: ['a', 'b'], y: [], z: ['a'] }],
  ['those that name it again, at the end', [...both, change('a', 'xy', ''), change('a', '', 'x')], { x: ['b', 'a'] }],
  ['none that are gone', [...both, change('a', 'xy', undefined)], { x: ['b'], y: [] }],
  ['none that it never knew', [change('a', 'x', undefined), change('b', 'x', 'y')], { x: [], y: ['b'] }],
])('the index lists for an id %s', (_, changes, expected) => {
  const index = new KeyIndex(idsOf);
  for (const each of changes) index.onChange(each);
  expect(Object.fromEntries(Object.keys(expected).map((id) => [id, index.keysOf(id)]))).toEqual(expected);
});
