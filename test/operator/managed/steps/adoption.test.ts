import { expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import { StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { adoptedIdentity } from '../../../../src/operator/managed/identity/recovered-identity.ts';
import { ensureAdopted, idToAdopt } from '../../../../src/operator/managed/steps/adoption.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { Things } from '../things.ts';

const RETIRING = JSON.stringify([{ id: 'y', generation: 1, after: '2026-11-21T12:00:00Z' }]);

test.each([
  ['nothing without the annotation', {}, undefined],
  ['nothing when it is empty', { adopt: '' }, undefined],
  ['what the annotation names', { adopt: 'x' }, 'x'],
  ['nothing once it has that', { adopt: 'x', externalId: 'x' }, undefined],
  ['nothing when it has another', { adopt: 'x', externalId: 'y' }, undefined],
  ['nothing when another is to be replaced', { adopt: 'x', createGeneration: '2', retiring: RETIRING }, undefined],
  ['it although a create was begun', { adopt: 'x', createGeneration: '1' }, 'x'],
])('an object adopts %s', (_, annotations, expected) => {
  expect(idToAdopt(object({}, annotations))).toBe(expected);
});

test.each([
  ['nothing else was created for it', [], { generation: 0, retiring: [] }],
  ['something was: that is retired', [{ id: 'c', sequence: 2 }], { generation: 0, retiring: ['c'] }],
  [
    'it was created for this object itself, which found it again',
    [
      { id: 'c', sequence: 2 },
      { id: 'x', sequence: 1 },
    ],
    { generation: 3, retiring: ['c'] },
  ],
])('an adopted resource is current, and %s', (_, resources, expected) => {
  const now = new Date('2026-11-21T12:00:00Z');
  const { retiring, ...identity } = adoptedIdentity('x', { resources, nextSequence: 4 }, now);
  expect({ ...identity, retiring: retiring.map(({ id }) => id) }).toEqual({
    externalId: 'x',
    createKey: undefined,
    ...expected,
  });
  expect(retiring.every(({ after }) => after === now.toISOString())).toBe(true);
});

test('an object adopts what exists, and from then on no create for it takes effect', async () => {
  const of = object({}, { adopt: 'thg_1', rotateRequestedAt: 'before' });
  const { managed, spec, things, events, identity } = await manage(of, { things: new Things('thg_1') });
  const { nextSequence } = things.created;
  await ensureAdopted(managed, spec);
  expect(await identity()).toMatchObject({ externalId: 'thg_1', generation: 0 });
  expect(managed.object.metadata.annotations?.[ANNOTATION.rotateHandledAt]).toBe('before');
  expect(things.created.nextSequence).toBeGreaterThan(nextSequence);
  expect(await events()).toEqual(['Adopted: Adopted thg_1']);
});

test.each([
  ['what is no id of its kind', 'cr_1', {}, 'ExternalNotFound', 'is not an id for the kind Thing (thg_…)'],
  ['what does not exist', 'thg_2', {}, 'ExternalNotFound', 'does not exist'],
  ['what differs in what cannot be changed', 'thg_1', { shape: 'flat' }, 'Rejected', 'spec.shape'],
])('an object cannot adopt %s', async (_, adopt, members, reason, message) => {
  const { managed, spec, identity } = await manage(object({ spec: members }, { adopt }), {
    things: new Things('thg_1'),
  });
  const says = expect.objectContaining({ reason, message: expect.stringContaining(message) });
  await expect(ensureAdopted(managed, spec)).rejects.toThrow(says);
  expect((await identity()).externalId).toBeUndefined();
});

test('what an object is to adopt, and its API key is perhaps not shown, is not called missing', async () => {
  const things = new Things();
  things.seen = { ownerId: 'usr_key', mayBeAdmin: true };
  const { managed, spec } = await manage(object({}, { adopt: 'thg_1' }), { things });
  await expect(ensureAdopted(managed, spec)).rejects.toThrow(expect.objectContaining({ reason: 'AccessDenied' }));
});

test('nothing is adopted for an object that somebody has changed meanwhile', async () => {
  const { managed, spec, things, outdate } = await manage(object({}, { adopt: 'thg_1' }), {
    things: new Things('thg_1'),
  });
  await outdate();
  const before = things.created;
  await expect(ensureAdopted(managed, spec)).rejects.toThrow(StaleObject);
  expect(things.created).toBe(before);
});
