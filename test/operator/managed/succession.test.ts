import { expect, test } from 'vitest';
import { FINALIZER } from '../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { readStatus } from '../../../src/operator/managed/spec.ts';
import { handedOver, handedOverForGood, isLeft } from '../../../src/operator/managed/succession.ts';
import { condition, object } from '../objects.ts';
import { manage } from './managed-under-test.ts';
import { NAMESPACE } from './placing.ts';
import { SETTINGS } from './things.ts';

const NOON = '2026-11-21T12:00:00Z';
const deletion = { deletionTimestamp: NOON, finalizers: [FINALIZER] };
const entry = (id: string) => ({ id, generation: 0, after: NOON });

/** Being deleted; has the settings of thg_1. */
const of = object(
  { spec: { of: 'thg_1' }, status: { id: 'thg_1', createGeneration: 0 }, metadata: deletion },
  { externalId: 'thg_1' },
);
const heir = (fields: Parameters<typeof object>[0] = {}) => object({ name: 'heir', spec: { of: 'thg_1' }, ...fields });
const has = { status: { id: 'thg_1', createGeneration: 0 } };
const retaining = { spec: { of: 'thg_1', deletionPolicy: 'Retain' }, metadata: deletion };

test.each<[string, KubeObject, KubeObject[], boolean]>([
  ['are left to another object that declares some', of, [heir()], true],
  ['are left to another object that has them, too', of, [heir(has)], true],
  ['go if nobody else declares any', of, [], false],
  [
    'go likewise after a restore',
    object({ spec: { of: 'thg_1' }, metadata: deletion }, { externalId: 'thg_1' }),
    [],
    false,
  ],
  ['go if others declare some of something else', of, [heir({ spec: { of: 'thg_2' } })], false],
  ['go if the other object is being deleted, too', of, [heir({ ...has, metadata: deletion })], false],
  ['are left to another that is deleted, and has them to stay', of, [heir({ ...has, ...retaining })], true],
  ['go if that does not have them', of, [heir(retaining)], false],
  [
    'are left where they were left before',
    object({ ...has, status: { ...has.status, handedOver: ['thg_1'] }, metadata: deletion }, { externalId: 'thg_1' }),
    [],
    true,
  ],
  [
    'are left by an object that has never had them',
    object({ status: { conditions: [condition('Ready', 'False')] }, metadata: deletion }, { externalId: 'thg_1' }),
    [],
    true,
  ],
  ['of nothing are left to nobody', object({ metadata: deletion }), [], false],
])('settings %s', async (_, from, others, expected) => {
  const { managed } = await manage(from, { others, kind: SETTINGS });
  expect(await isLeft(managed)).toBe(expected);
});

test('an heir is recorded as the one that has the settings, and is reconciled', async () => {
  const { managed, object: written, identity, enqueued } = await manage(of, { others: [heir()], kind: SETTINGS });
  expect(await isLeft(managed)).toBe(true);
  expect(await identity('heir')).toMatchObject({ externalId: 'thg_1', generation: 0 });
  expect(readStatus(await written('heir')).id).toBe('thg_1');
  expect((await written('heir')).metadata.finalizers).toEqual([FINALIZER]);
  expect(enqueued).toEqual([`${NAMESPACE}/heir`]);
  expect(readStatus(await written()).handedOver).toEqual(['thg_1']);
});

test('nothing is left to an heir of which it cannot be recorded', async () => {
  const { managed, object: written } = await manage(of, {
    others: [heir()],
    kind: SETTINGS,
    policy: 'refuses writes of statuses',
  });
  await expect(isLeft(managed)).rejects.toThrow(expect.objectContaining({ code: 403 }));
  expect(readStatus(await written()).handedOver).toBeUndefined();
});

test('nothing is written to an heir that has the settings already', async () => {
  const { managed, object: written, enqueued } = await manage(of, { others: [heir(has)], kind: SETTINGS });
  const before = await written('heir');
  expect(await isLeft(managed)).toBe(true);
  expect(await written('heir')).toEqual(before);
  expect(enqueued).toEqual([]);
});

test('settings go if the heir does not declare any by now, as the cache has not heard', async () => {
  const { managed, change } = await manage(of, { others: [heir()], kind: SETTINGS });
  await change({ spec: { of: 'thg_2' } }, 'heir');
  expect(await isLeft(managed)).toBe(false);
});

test('settings go if the heir is gone by now, as the cache has not heard', async () => {
  const { managed, remove } = await manage(of, { others: [heir()], kind: SETTINGS });
  await remove('heir');
  expect(await isLeft(managed)).toBe(false);
});

const older = object({ name: 'old', created: '2020-11-20T10:00:00Z', status: { id: 'thg_1', createGeneration: 1 } });

test.each([
  ['another object has it', [older], true],
  ['no other object has it', [], false],
])('a resource is left or not, as %s', async (_, others, expected) => {
  const { managed } = await manage(object({ metadata: deletion }, { externalId: 'thg_1' }), { others });
  expect(await isLeft(managed)).toBe(expected);
});

test('of several superseded owners, those are told whose settings another object takes over', async () => {
  const { managed, object: written } = await manage(of, { others: [heir({ spec: { of: 'thg_3' } })], kind: SETTINGS });
  expect(await handedOver(managed, [entry('thg_2'), entry('thg_3')])).toEqual([entry('thg_3')]);
  expect(readStatus(await written()).handedOver).toBeUndefined();
});

test('what is handed over for good is noted, beside what was before', async () => {
  const from = object({ ...of, status: { ...has.status, handedOver: ['thg_2'] } }, { externalId: 'thg_1' });
  const { managed, object: written } = await manage(from, {
    others: [heir({ spec: { of: 'thg_3' } })],
    kind: SETTINGS,
  });
  const given = await handedOverForGood(managed, [entry('thg_2'), entry('thg_3'), entry('thg_4')]);
  expect(given).toEqual([entry('thg_2'), entry('thg_3')]);
  expect(readStatus(await written()).handedOver).toEqual(['thg_2', 'thg_3']);
});

test('nothing is noted if nothing is handed over', async () => {
  const { managed, object: written } = await manage(of, { kind: SETTINGS });
  const before = await written();
  expect(await handedOverForGood(managed, [entry('thg_4')])).toEqual([]);
  expect(await written()).toEqual(before);
});
