import { expect, test } from 'vitest';
import { readStatus } from '../../../../src/operator/managed/identity/recorded-status.ts';
import { observeOnly } from '../../../../src/operator/managed/steps/observation.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { Things } from '../things.ts';

const observing = (annotations: Parameters<typeof object>[1], members: object = {}) =>
  object({ spec: { managementPolicy: 'Observe', ...members } }, annotations);

test.each([
  ['as declared', {}, 'Only observed'],
  ['different', { size: 2 }, 'Only observed; differs in spec.size'],
])('what is observed is shown, and left as it is: %s', async (_, members, message) => {
  const {
    managed,
    spec,
    things,
    object: written,
  } = await manage(observing({ adopt: 'thg_1' }, members), {
    things: new Things('thg_1'),
  });
  expect(await observeOnly(managed, spec)).toEqual({ object: managed.object });
  const { id, conditions } = readStatus(await written());
  expect(id).toBe('thg_1');
  expect(conditions).toMatchObject([
    { type: 'Ready', status: 'True', message: 'thg_1 exists' },
    { type: 'Synced', status: 'True', message },
  ]);
  expect(things.updated).toEqual([]);
});

test('what has expired is shown as expired', async () => {
  const end = { of: () => '2026-01-01T00:00:00Z', remedy: 'renew it' };
  const { managed, spec } = await manage(observing({ adopt: 'thg_1' }), { things: new Things('thg_1'), kind: { end } });
  await observeOnly(managed, spec);
  expect(readStatus(managed.object).conditions).toMatchObject([
    { type: 'Ready', status: 'False', reason: 'Expired', message: 'thg_1 expired at 2026-01-01T00:00:00Z: renew it' },
    { type: 'Synced' },
  ]);
});

test.each([
  ['names none', {}, true, 'NothingToObserve', 'set the annotation tunnel-operator.dev/adopt'],
  ['names one of another kind', { adopt: 'cr_1' }, true, 'ExternalNotFound', 'is not an id for the kind Thing'],
  ['names one that does not exist', { adopt: 'thg_2' }, true, 'ExternalNotFound', 'correct the annotation'],
  [
    'has lost its own',
    { externalId: 'thg_2', createGeneration: '1' },
    true,
    'ExternalNotFound',
    'set managementPolicy to Manage to have it created again',
  ],
  ['may not observe any', { adopt: 'thg_1' }, false, 'AccessDenied', 'neither adopted nor observed'],
])('an object that %s observes nothing, and says why', async (_, annotations, mayAdopt, reason, message) => {
  const { managed, spec } = await manage(observing(annotations), { things: new Things('thg_1'), mayAdopt });
  const says = expect.objectContaining({ reason, message: expect.stringContaining(message) });
  await expect(observeOnly(managed, spec)).rejects.toThrow(says);
});

test('an object may observe what was created for it, wherever that is', async () => {
  const { managed, spec } = await manage(observing({ externalId: 'thg_1', createGeneration: '1' }), {
    things: new Things().makeFor('thg_1'),
    mayAdopt: false,
  });
  await observeOnly(managed, spec);
  expect(readStatus(managed.object).id).toBe('thg_1');
});

test.each([
  ['one that was created for it has', '1', 'ExternalNotFound'],
  ['one that it has adopted may have', '', 'AccessDenied'],
  ['one that it only names may have', undefined, 'AccessDenied'],
])('of what the API key is not shown, %s gone', async (_, createGeneration, reason) => {
  const things = new Things();
  things.seen = { ownerId: 'usr_key', mayBeAdmin: true };
  const annotations = createGeneration === undefined ? { adopt: 'thg_1' } : { externalId: 'thg_1', createGeneration };
  const { managed, spec } = await manage(observing(annotations), { things });
  await expect(observeOnly(managed, spec)).rejects.toThrow(expect.objectContaining({ reason }));
});

test('what was superseded is deleted when it is due, and looked at again before', async () => {
  const entry = (id: string, after: string) => ({ id, generation: 1, after });
  const retiring = [entry('thg_1', '2026-01-01T00:00:00Z'), entry('thg_2', '2099-01-01T00:00:00Z')];
  const of = observing({ externalId: 'thg_3', createGeneration: '3', retiring: JSON.stringify(retiring) });
  const { managed, spec, things } = await manage(of, { things: new Things().makeFor('thg_1', 'thg_2', 'thg_3') });
  const { requeueAfterMs } = await observeOnly(managed, spec);
  expect(things.ids).toEqual(['thg_2', 'thg_3']);
  expect(requeueAfterMs).toBeGreaterThan(0);
});

test('while a resource is being replaced, that is observed, and the create is left under way', async () => {
  const retiring = JSON.stringify([{ id: 'thg_1', generation: 1, after: '2026-01-01T00:00:00Z' }]);
  const of = observing({ createGeneration: '2', createKey: 'k', retiring });
  const { managed, spec, things, identity } = await manage(of, { things: new Things().makeFor('thg_1', 'thg_2') });
  await observeOnly(managed, spec);
  expect(readStatus(managed.object).id).toBe('thg_1');
  expect(things.ids).toEqual(['thg_1', 'thg_2']);
  expect(await identity()).toMatchObject({ externalId: undefined, generation: 2, createKey: 'k' });
});
