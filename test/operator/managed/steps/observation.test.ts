import { expect, test } from 'vitest';
import { readStatus } from '../../../../src/operator/managed/identity/recorded-status.ts';
import { observeOnly } from '../../../../src/operator/managed/steps/observation.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { Things } from '../things.ts';

const observing = (annotations: Parameters<typeof object>[1], members: object = {}) =>
  object({ spec: { managementPolicy: 'Observe', ...members } }, annotations);
const exists = { status: 'True', message: 'thg_1 exists' };
const end = { of: () => '2026-01-01T00:00:00Z', remedy: 'renew it' };
const expired = { status: 'False', reason: 'Expired', message: 'thg_1 expired at 2026-01-01T00:00:00Z: renew it' };

test.each([
  ['matches', {}, {}, exists, 'Only observed'],
  ['differs', { size: 2 }, {}, exists, 'Only observed; differs in spec.size'],
  ['has expired', {}, { end }, expired, 'Only observed'],
])('an observed resource that %s is shown, and not written', async (_, members, kind, ready, message) => {
  const { managed, spec, things } = await manage(observing({ adopt: 'thg_1' }, members), {
    things: new Things('thg_1'),
    kind,
  });
  expect(await observeOnly(managed, spec)).toEqual({ object: managed.object });
  const { id, conditions } = readStatus(managed.object);
  expect(id).toBe('thg_1');
  expect(conditions).toMatchObject([
    { type: 'Ready', ...ready },
    { type: 'Synced', status: 'True', message },
    ...(ready.status === 'False' ? [{ type: 'Stalled', status: 'True' }] : []),
  ]);
  expect(things.updated).toEqual([]);
});

const lost = { externalId: 'thg_2', createGeneration: '1' };
test.each([
  ['no resource is named', {}, true, 'NothingToObserve', 'set the annotation tunnel-operator.dev/adopt'],
  ['one of another kind is named', { adopt: 'cr_1' }, true, 'ExternalNotFound', 'is not an id for the kind Thing'],
  ['a missing one is named', { adopt: 'thg_2' }, true, 'ExternalNotFound', 'correct the annotation'],
  ['its resource is gone', lost, true, 'ExternalNotFound', 'set managementPolicy to Manage to have it created again'],
  ['observing is not allowed', { adopt: 'thg_1' }, false, 'AccessDenied', 'neither adopted nor observed'],
])('an object observes nothing if %s', async (_, annotations, mayAdopt, reason, message) => {
  const { managed, spec } = await manage(observing(annotations), { things: new Things('thg_1'), mayAdopt });
  const says = expect.objectContaining({ reason, message: expect.stringContaining(message) });
  await expect(observeOnly(managed, spec)).rejects.toThrow(says);
});

test('an object in any namespace may observe a resource that was created for it', async () => {
  const { managed, spec } = await manage(observing({ externalId: 'thg_1', createGeneration: '1' }), {
    things: new Things().makeFor('thg_1'),
    mayAdopt: false,
  });
  await observeOnly(managed, spec);
  expect(readStatus(managed.object).id).toBe('thg_1');
});

test.each([
  ['a created one is gone', { externalId: 'thg_1', createGeneration: '1' }, 'ExternalNotFound'],
  ['an adopted one may be hidden', { externalId: 'thg_1' }, 'AccessDenied'],
  ['a named one may be hidden', { adopt: 'thg_1' }, 'AccessDenied'],
])('where the API key does not see everything, %s', async (_, annotations, reason) => {
  const things = new Things();
  things.seen = { ownerId: 'usr_key', mayBeAdmin: true };
  const { managed, spec } = await manage(observing(annotations), { things });
  await expect(observeOnly(managed, spec)).rejects.toThrow(expect.objectContaining({ reason }));
});

const entry = (id: string, after: string) => ({ id, generation: 1, after });
const [due, later] = [entry('thg_1', '2026-01-01T00:00:00Z'), entry('thg_2', '2099-01-01T00:00:00Z')];

test('superseded resources are deleted when they are due', async () => {
  const of = observing({ externalId: 'thg_3', createGeneration: '3', retiring: JSON.stringify([due, later]) });
  const { managed, spec, things } = await manage(of, { things: new Things().makeFor('thg_1', 'thg_2', 'thg_3') });
  const { requeueAfterMs } = await observeOnly(managed, spec);
  expect(things.ids).toEqual(['thg_2', 'thg_3']);
  expect(requeueAfterMs).toBeGreaterThan(0);
});

test('during a replacement, the old resource is observed, and the create stays under way', async () => {
  const of = observing({ createGeneration: '2', createKey: 'k', retiring: JSON.stringify([due]) });
  const { managed, spec, things, identity } = await manage(of, { things: new Things().makeFor('thg_1', 'thg_2') });
  await observeOnly(managed, spec);
  expect(readStatus(managed.object).id).toBe('thg_1');
  expect(things.ids).toEqual(['thg_1', 'thg_2']);
  expect(await identity()).toMatchObject({ externalId: undefined, generation: 2, createKey: 'k' });
});
