import { expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { Blocked, Contradiction } from '../../../../src/operator/managed/declaration/external.ts';
import { deleteVisible, observeVisible } from '../../../../src/operator/managed/object/not-found.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { Things } from '../things.ts';

/** An API that hides some resources, because the key is not that of an admin. */
function hiding(things: Things, ...ids: string[]): Things {
  for (const id of ids) things.hidden.add(id);
  things.seen = { ownerId: 'usr_key', mayBeAdmin: true };
  return things;
}

const HIDDEN = "hidden from the operator's API key, because its owner usr_key is not an admin: make usr_key an admin";
const GONE = `thg_1 does not exist, or is ${HIDDEN}`;
const other = () => hiding(new Things().makeFor('thg_2'));
const ownedBy = (ownerId: string) => object({ status: { id: 'thg_1', ownerId } });
const named = object({}, { adopt: 'thg_1' });
const ownHidden = hiding(new Things().makeFor('thg_1', 'thg_2'), 'thg_1');

test.each<[string, Things, KubeObject, number, string | undefined | object]>([
  ['exists', hiding(new Things('thg_1')), object(), 0, 'thg_1'],
  ['is gone, as the API shows everything', new Things('thg_2'), object(), 0, undefined],
  ['is gone, as it was created for the object', other(), object(), 1, undefined],
  ['may be hidden, as another user owned it', other(), ownedBy('usr_x'), 1, { message: GONE }],
  ['is gone, as the key owned it', hiding(new Things()), ownedBy('usr_key'), 0, undefined],
  ['may be hidden', other(), object(), 0, { message: GONE }],
  [
    'may be hidden or misnamed',
    other(),
    named,
    0,
    { message: `${GONE}, or correct the annotation ${ANNOTATION.adopt}` },
  ],
  ['is hidden', ownHidden, named, 1, { message: `thg_1 exists, but is ${HIDDEN}` }],
])('a resource %s', async (_, things, of, generation, expected) => {
  const { managed } = await manage(of, { things });
  const observed = observeVisible(managed, { id: 'thg_1', generation }).then((remote) => remote?.id);
  if (typeof expected !== 'object') return expect(await observed).toBe(expected);
  await expect(observed).rejects.toThrow(expect.objectContaining({ reason: 'AccessDenied', ...expected }));
});

test('an API that shows everything contradicts itself if it does not find a resource that exists', async () => {
  const things = new Things().makeFor('thg_1');
  things.hidden.add('thg_1');
  const { managed } = await manage(object(), { things });
  await expect(observeVisible(managed, { id: 'thg_1', generation: 1 })).rejects.toThrow(Contradiction);
});

test('a visible resource can be deleted, and one that may be hidden does not count as deleted', async () => {
  const things = hiding(new Things('thg_1'));
  const { managed } = await manage(object(), { things });
  await deleteVisible(managed, { id: 'thg_1', generation: 0 });
  expect(things.ids).toEqual([]);
  await expect(deleteVisible(managed, { id: 'thg_1', generation: 0 })).rejects.toThrow(Blocked);
});
