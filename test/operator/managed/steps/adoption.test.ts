import { expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import { StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { ensureAdopted, idToAdopt } from '../../../../src/operator/managed/steps/adoption.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { Things } from '../things.ts';

const retiring = JSON.stringify([{ id: 'y', generation: 1, after: '2026-11-21T12:00:00Z' }]);

test.each([
  ['nothing without the annotation', {}, undefined],
  ['nothing when it is empty', { adopt: '' }, undefined],
  ['the resource in the annotation', { adopt: 'x' }, 'x'],
  ['nothing when it has a resource', { adopt: 'x', externalId: 'y' }, undefined],
  ['nothing when it replaces one', { adopt: 'x', createGeneration: '2', retiring }, undefined],
  ['it even if a create was begun', { adopt: 'x', createGeneration: '1' }, 'x'],
])('an object adopts %s', (_, annotations, expected) => {
  expect(idToAdopt(object({}, annotations))).toBe(expected);
});

test('adopting an existing resource closes the creates of the object', async () => {
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
  ['with an id of another kind', 'cr_1', {}, true, 'ExternalNotFound', 'is not an id for the kind Thing (thg_…)'],
  ['that does not exist', 'thg_2', {}, true, 'ExternalNotFound', 'does not exist'],
  ['that may be hidden', 'thg_2', {}, false, 'AccessDenied', 'does not exist, or is hidden'],
  ['with an immutable difference', 'thg_1', { shape: 'flat' }, true, 'Rejected', 'spec.shape'],
])('an object cannot adopt a resource %s', async (_, adopt, members, seesAll, reason, message) => {
  const things = new Things('thg_1');
  if (!seesAll) things.seen = { ownerId: 'usr_key', mayBeAdmin: true };
  const { managed, spec, identity } = await manage(object({ spec: members }, { adopt }), { things });
  const says = expect.objectContaining({ reason, message: expect.stringContaining(message) });
  await expect(ensureAdopted(managed, spec)).rejects.toThrow(says);
  expect((await identity()).externalId).toBeUndefined();
});

test('an object does not adopt a resource that an older object is to adopt', async () => {
  const older = object({ name: 'b', created: '2026-11-21T09:00:00Z' }, { adopt: 'thg_1' });
  const of = object({}, { adopt: 'thg_1' });
  const { managed, spec, identity } = await manage(of, { things: new Things('thg_1'), others: [older] });
  await expect(ensureAdopted(managed, spec)).rejects.toMatchObject({ reason: 'ManagementConflict' });
  expect((await identity()).externalId).toBeUndefined();
});

test('a stale object adopts nothing', async () => {
  const of = object({}, { adopt: 'thg_1' });
  const { managed, spec, things, outdate } = await manage(of, { things: new Things('thg_1') });
  await outdate();
  const before = things.created;
  await expect(ensureAdopted(managed, spec)).rejects.toThrow(StaleObject);
  expect(things.created).toBe(before);
});
