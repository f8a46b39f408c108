import { expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { Blocked, Contradiction } from '../../../../src/operator/managed/declaration/external.ts';
import { deleteVisible, observeVisible } from '../../../../src/operator/managed/object/not-found.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { Things } from '../things.ts';

const sight = { ownerId: 'usr_key', mayBeAdmin: true };

/** With things that the operator's API key is not shown, since it is not that of an admin. */
function hiding(things: Things, ...ids: string[]): Things {
  for (const id of ids) things.hidden.add(id);
  things.seen = sight;
  return things;
}

const HIDDEN =
  "is hidden from the operator's API key, because its owner usr_key is not an admin: make usr_key an admin";

test.each<[string, Things, KubeObject, number, string | undefined | object]>([
  ['there', hiding(new Things('thg_1')), object(), 0, 'thg_1'],
  ['gone, says an API that shows everything', new Things('thg_2'), object(), 0, undefined],
  ['gone, as it would be shown', hiding(new Things().makeFor('thg_2')), object(), 1, undefined],
  [
    'gone or hidden, as it was somebody else’s',
    hiding(new Things().makeFor('thg_2')),
    object({ status: { id: 'thg_1', ownerId: 'usr_x' } }),
    1,
    { reason: 'AccessDenied', message: `thg_1 does not exist, or ${HIDDEN}` },
  ],
  [
    'gone, as it was the operator’s own',
    hiding(new Things()),
    object({ status: { id: 'thg_1', ownerId: 'usr_key' } }),
    0,
    undefined,
  ],
  [
    'gone or hidden',
    hiding(new Things().makeFor('thg_2')),
    object(),
    0,
    { reason: 'AccessDenied', message: `thg_1 does not exist, or ${HIDDEN}` },
  ],
  [
    'gone or hidden, if it is not the wrong one',
    hiding(new Things()),
    object({}, { adopt: 'thg_1' }),
    0,
    {
      reason: 'AccessDenied',
      message: `thg_1 does not exist, or ${HIDDEN}, or correct the annotation tunnel-operator.dev/adopt`,
    },
  ],
  [
    'hidden, as it was created for the object',
    hiding(new Things().makeFor('thg_1', 'thg_2'), 'thg_1'),
    object({}, { adopt: 'thg_1' }),
    1,
    { reason: 'AccessDenied', message: `thg_1 exists, but ${HIDDEN}` },
  ],
])('a resource is %s', async (_, things, of, generation, expected) => {
  const { managed } = await manage(of, { things });
  const observed = observeVisible(managed, { id: 'thg_1', generation }).then((remote) => remote?.id);
  if (typeof expected === 'object') await expect(observed).rejects.toThrow(expect.objectContaining(expected));
  else expect(await observed).toBe(expected);
});

test('a resource neither exists nor is gone, if an API that shows everything says both', async () => {
  const things = new Things().makeFor('thg_1');
  things.hidden.add('thg_1');
  const { managed } = await manage(object(), { things });
  await expect(observeVisible(managed, { id: 'thg_1', generation: 1 })).rejects.toThrow(Contradiction);
});

test('a resource that is shown can be deleted, and one that may be hidden is not taken for deleted', async () => {
  const things = hiding(new Things('thg_1'));
  const { managed } = await manage(object(), { things });
  await deleteVisible(managed, { id: 'thg_1', generation: 0 });
  expect(things.ids).toEqual([]);
  await expect(deleteVisible(managed, { id: 'thg_1', generation: 0 })).rejects.toThrow(Blocked);
});
