import { expect, test } from 'vitest';
import { Blocked, StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import type { ManagedObject } from '../../../../src/operator/managed/object/managed-object.ts';
import { ensureUpToDate } from '../../../../src/operator/managed/steps/update.ts';
import { condition, object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { SERVING, type ThingKind, tokens } from '../things.ts';

const inSync = {
  id: 'thg_1',
  createGeneration: 1,
  observedGeneration: 1,
  conditions: [condition('Ready', 'True'), condition('Synced', 'True')],
};
const having = (spec: object, status: object = {}, generation = 1) =>
  object({ spec, status: { ...status } }, { externalId: 'thg_1', createGeneration: String(generation) });

/** An object whose thing has the size 1. */
async function sized(of: ReturnType<typeof object>, kind: Partial<ThingKind> = {}) {
  const setting = await manage(of, { kind });
  const remote = setting.things.make('thg_1');
  const ensure = (isHeld = true) => ensureUpToDate(setting.managed, setting.spec, { remote, isHeld });
  return { ...setting, ensure };
}

test('a resource that matches the spec is left alone', async () => {
  const { ensure, things, events } = await sized(having({ size: 1 }, inSync));
  expect(await ensure()).toMatchObject({
    remote: { id: 'thg_1' },
    ready: { status: 'True', reason: 'Available' },
    synced: { status: 'True', reason: 'UpToDate' },
  });
  expect([things.updated, await events()]).toEqual([[], []]);
});

const newInputs = { sources: [], references: [{ field: 'spec.size', id: 'other' }] };
test.each<[string, object, ManagedObject['inputs'], string]>([
  ['after a change of the spec', {}, undefined, 'UpToDate'],
  ['after a change of an input', inSync, newInputs, 'UpToDate'],
  ['after drift, which is counted', inSync, undefined, 'DriftCorrected'],
])('a resource is updated %s', async (_, status, inputs, reason) => {
  const { ensure, managed, events, metrics } = await sized(having({ size: 2 }, status));
  managed.inputs = inputs;
  const { remote, synced } = await ensure();
  expect([remote, synced]).toMatchObject([{ size: 2 }, { reason }]);
  const isDrift = reason === 'DriftCorrected';
  const event = isDrift ? `DriftCorrected: ${synced.message}` : 'Updated: Updated spec.size of thg_1';
  expect(await events()).toEqual([event]);
  const { values } = await metrics.driftCorrected.get();
  expect(values).toEqual(isDrift ? [{ labels: { kind: 'Thing' }, value: 1 }] : []);
});

test('a resource is not updated with an immutable change, or for a stale object', async () => {
  const immutable = await sized(having({ size: 2, shape: 'flat' }));
  await expect(immutable.ensure()).rejects.toThrow(Blocked);
  const stale = await sized(having({ size: 2 }));
  await stale.outdate();
  await expect(stale.ensure()).rejects.toThrow(StaleObject);
  expect([...immutable.things.updated, ...stale.things.updated]).toEqual([]);
});

const UNFIT = { status: 'False', reason: 'Rejected', message: 'spec.size: too large' } as const;
const onlyFirst = (_spec: unknown, _thing: unknown, isFirst: boolean) => (isFirst ? UNFIT : undefined);
const OVER = { of: () => '2026-11-21T10:00:00Z', remedy: 'make another one' };

test.each<[string, Partial<ThingKind>, boolean, number, string]>([
  ['whose token is held is available', tokens(['thg_1']), true, 1, 'Available'],
  ['whose token was never known has none', tokens([]), false, 0, 'TokenUnavailable'],
  ['whose token is lost repeatedly has a conflict', tokens([]), false, 1, 'SecretConflict'],
  ['that hands out nothing is available', {}, false, 1, 'Available'],
  ['that is past its end has expired', { end: OVER }, true, 1, 'Expired'],
  ['that cannot do what the spec asks for says so', { unfit: onlyFirst }, true, 1, 'Rejected'],
  ['that took the place of another may have less to do', { unfit: onlyFirst }, true, 2, 'Available'],
  ['that has expired says that first', { end: OVER, unfit: () => UNFIT }, true, 1, 'Expired'],
])('a resource %s', async (_, kind, isHeld, generation, reason) => {
  const { ensure } = await sized(having({}, {}, generation), kind);
  expect((await ensure(isHeld)).ready.reason).toBe(reason);
});

test.each([
  ['is updated', { size: 2 }, ['thg_1']],
  ['is left alone', {}, []],
])('a resource that waits for modules %s otherwise, and says what it waits for', async (_, members, updated) => {
  const { managed, spec, things } = await manage(having({ open: true, ...members }, inSync), { kind: SERVING });
  const requiring = { ...spec, requireModules: true };
  const { ready, synced } = await ensureUpToDate(managed, requiring, { remote: things.make('thg_1'), isHeld: true });
  expect([ready.reason, synced.reason]).toEqual(['WaitingForModules', 'WaitingForModules']);
  expect(things.updated).toEqual(updated);
});
