import { expect, test } from 'vitest';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { believedOwner, deleteSurely, observeSurely } from '../../../src/operator/managed/absence.ts';
import { Blocked, Contradiction } from '../../../src/operator/managed/external.ts';
import { readOwner } from '../../../src/operator/managed/spec.ts';
import { object } from '../objects.ts';
import { manage } from './managed-under-test.ts';
import { Things } from './things.ts';

/** As the caches would resolve it. */
const refersTo = (ownerRef: unknown) => (ownerRef === 'known' ? 'bot_1' : undefined);
const SHOWN = { status: { id: 'a', ownerId: 'usr_x' } };
const sight = { ownerId: 'usr_key', mayBeAdmin: true };

test.each([
  ['the one that the status shows', { status: { id: 'a', ownerId: 'usr_x' } }, 1, 'usr_x'],
  ['not the one that the status shows of another resource', { status: { id: 'b', ownerId: 'usr_x' } }, 1, 'usr_key'],
  ['the one that the spec names', { spec: { ownerId: 'usr_y' } }, 1, 'usr_y'],
  ['the one that the spec refers to', { spec: { ownerRef: 'known' } }, 1, 'bot_1'],
  ['unknown when the spec refers to what is not there', { spec: { ownerRef: 'missing' } }, 1, undefined],
  [
    'the one that the status shows, whatever the spec refers to',
    { ...SHOWN, spec: { ownerRef: 'missing' } },
    1,
    'usr_x',
  ],
  ['the one that the status shows of what was adopted', { status: { id: 'a', ownerId: 'usr_x' } }, 0, 'usr_x'],
  ['whoever creates it, if none is named', {}, 1, 'usr_key'],
  ['unknown of what was adopted, if none is named', {}, 0, undefined],
  ['not what is no id', { spec: { ownerId: 1 } }, 0, undefined],
])('the owner of a resource that is not shown is believed to be %s', (_, fields, generation, expected) => {
  const of = object(fields);
  expect(believedOwner(of, { id: 'a', generation }, sight, readOwner(of.spec, refersTo))).toBe(expected);
});

/** With things that the operator's API key is not shown, since it is not that of an admin. */
function hiding(things: Things, ...ids: string[]): Things {
  for (const id of ids) things.hidden.add(id);
  things.seen = sight;
  return things;
}

const HIDDEN =
  "is hidden from the operator's API key, since usr_key, whose key it is, is no admin: make usr_key an admin";

test.each<[string, Things, KubeObject, number, string | undefined | object]>([
  ['there', hiding(new Things('thg_1')), object(), 0, 'thg_1'],
  ['gone, says an API that shows everything', new Things('thg_2'), object(), 0, undefined],
  ['gone, as it would be shown', hiding(new Things().makeFor('thg_2')), object(), 1, undefined],
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
  const observed = observeSurely(managed, { id: 'thg_1', generation }).then((remote) => remote?.id);
  if (typeof expected === 'object') await expect(observed).rejects.toThrow(expect.objectContaining(expected));
  else expect(await observed).toBe(expected);
});

test('a resource neither exists nor is gone, if an API that shows everything says both', async () => {
  const things = new Things().makeFor('thg_1');
  things.hidden.add('thg_1');
  const { managed } = await manage(object(), { things });
  await expect(observeSurely(managed, { id: 'thg_1', generation: 1 })).rejects.toThrow(Contradiction);
});

test('a resource that is shown can be deleted, and one that may be hidden is not taken for deleted', async () => {
  const things = hiding(new Things('thg_1'));
  const { managed } = await manage(object(), { things });
  await deleteSurely(managed, { id: 'thg_1', generation: 0 });
  expect(things.ids).toEqual([]);
  await expect(deleteSurely(managed, { id: 'thg_1', generation: 0 })).rejects.toThrow(Blocked);
});
