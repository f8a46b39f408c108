import { expect, test } from 'vitest';
import { FINALIZER } from '../../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { Blocked, StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { Reference } from '../../../../src/operator/managed/declaration/input.ts';
import { fateOfRemote, finalize } from '../../../../src/operator/managed/steps/finalization.ts';
import { condition, object } from '../../objects.ts';
import { inputsWith, manage } from '../managed-under-test.ts';
import { NAMESPACE } from '../placing.ts';
import { SETTINGS, Things } from '../things.ts';

test.each([
  ['is deleted with its object', {}, false, 'delete'],
  ['is retained if declared', { deletionPolicy: 'Retain' }, false, 'retain'],
  ['is retained if only observed', { managementPolicy: 'Observe' }, false, 'retain'],
  ['is not touched if an older object has it', {}, true, 'not-ours'],
  ['is not retained if an older object has it', { deletionPolicy: 'Retain' }, true, 'not-ours'],
  ['is deleted despite other errors in the spec', { rules: 'no list' }, false, 'delete'],
] as const)('the resource %s', (_, spec, hasRival, expected) => {
  expect(fateOfRemote(object({ spec }), hasRival)).toBe(expected);
});

test('the resource of an object with an unknown policy is not touched', () => {
  expect(() => fateOfRemote(object({ spec: { deletionPolicy: 'Orphan' } }), false)).toThrow(Blocked);
});

const NOON = '2026-11-21T12:00:00Z';
const entry = (id: string, generation: number) => ({ id, generation, after: NOON });

/** An object being deleted, which has thg_1 and has superseded thg_2. */
function deleted(spec: object = {}, { generation = 1, finalizers = [FINALIZER] } = {}): KubeObject {
  const retiring = [entry('thg_2', generation)];
  return object(
    {
      spec,
      status: { id: 'thg_1', createGeneration: generation * 2, retiring },
      metadata: { deletionTimestamp: NOON, finalizers },
    },
    { externalId: 'thg_1', createGeneration: String(generation * 2), retiring: JSON.stringify(retiring) },
  );
}

/** An older object that has thg_1. */
const rival = object({ name: 'rival', created: '2020-11-20T10:00:00Z', status: { id: 'thg_1', createGeneration: 1 } });

const both = () => new Things().makeFor('thg_2', 'thg_1');
const taken = () => new Things('thg_1').makeFor('thg_2');

const retained = deleted({ deletionPolicy: 'Retain' });
test.each<[string, KubeObject, Things, KubeObject[], string[], string[]]>([
  ['all its resources', deleted(), both(), [], [], ['Deleted: Deleted thg_2, thg_1']],
  ['the superseded ones, if it retains the rest', retained, both(), [], ['thg_1'], ['Retained: Retained thg_1']],
  ['the superseded ones, if another object has the rest', deleted(), taken(), [rival], ['thg_1'], []],
])('an object is deleted with %s, but not while those are in use', async (_, of, things, others, expected, said) => {
  things.inUse.add('thg_2');
  const { managed, exists, events } = await manage(of, { things, others });
  await expect(finalize(managed)).rejects.toThrow(expect.objectContaining({ reason: 'DeletionBlocked' }));
  expect(await exists()).toBe(true);
  things.inUse.clear();
  await finalize(managed);
  expect(things.ids).toEqual(expected);
  expect(await events()).toEqual(said);
  expect(await exists()).toBe(false);
});

test('an object that waits for the resource of another is deleted with the one created for it', async () => {
  const of = object(
    { metadata: { deletionTimestamp: NOON, finalizers: [FINALIZER] } },
    { adopt: 'thg_1', createGeneration: '1' },
  );
  const things = taken();
  const { managed, events } = await manage(of, { things, others: [rival] });
  await finalize(managed);
  expect(things.ids).toEqual(['thg_1']);
  expect(await events()).toEqual(['Deleted: Deleted thg_2']);
});

/** An object being deleted, which refers to thg_1. */
const modulesOf = (status: object) =>
  object(
    { spec: { of: 'thg_1' }, status, metadata: { deletionTimestamp: NOON, finalizers: [FINALIZER] } },
    { externalId: 'thg_1' },
  );
const waiting = object({ name: 'waiting', spec: { of: 'thg_1' } }, { externalId: 'thg_1' });
const leaving = { ...waiting, metadata: { ...waiting.metadata, deletionTimestamp: NOON, finalizers: [FINALIZER] } };
const had = { id: 'thg_1', createGeneration: 0 };

test.each<[string, KubeObject, KubeObject[], boolean]>([
  ['go with the object that has set them', modulesOf(had), [], true],
  ['stay for another object that waits for them', modulesOf(had), [waiting], false],
  ['go if the object that waits for them is also being deleted', modulesOf(had), [leaving], true],
  ['go after a restore', modulesOf({}), [], true],
  ['stay if an older object has them', modulesOf(had), [rival], false],
  ['stay if the object has never set any', modulesOf({ conditions: [condition('Ready', 'False')] }), [], false],
])('modules %s', async (_, of, others, go) => {
  const things = new Things('thg_1');
  const { managed, exists } = await manage(of, { things, others, kind: SETTINGS });
  await finalize(managed);
  expect(things.ids).toEqual(go ? [] : ['thg_1']);
  expect(await exists()).toBe(false);
});

test('nothing is deleted for an object that is already finalized, and no modules for a stale one', async () => {
  const held = await manage(deleted({}, { finalizers: ['example.com/hold'] }), { things: both() });
  await finalize(held.managed);
  expect(held.things.ids).toEqual(['thg_2', 'thg_1']);
  const stale = await manage(modulesOf(had), { things: new Things('thg_1'), kind: SETTINGS });
  await stale.outdate();
  await expect(finalize(stale.managed)).rejects.toThrow(StaleObject);
  expect(stale.things.ids).toEqual(['thg_1']);
});

/** @param bound the referrers whose reference is immutable */
function referredTo(count: number, bound: readonly string[] = []) {
  const names = Array.from({ length: count }, (_, index) => `b${index + 1}`);
  const referencesIn = ({ metadata }: KubeObject) => [
    new Reference({ kind: 'Thing', name: 'a', isImmutable: bound.includes(metadata.name) }),
  ];
  return inputsWith(
    'Other',
    names.map((name) => object({ name })),
    true,
    { referencesIn },
  );
}

const FIVE = 'Other ns/b1, Other ns/b2, Other ns/b3, Other ns/b4, Other ns/b5';
const either = 'delete what refers to it, or let that refer to another';
test.each([
  ['Other ns/b1 refers', referredTo(1), either],
  ['Other ns/b1, Other ns/b2 refer', referredTo(2, ['b2']), 'delete what refers to it'],
  [`${FIVE} refer`, referredTo(5), either],
  [`${FIVE} and 2 more refer`, referredTo(7), either],
])('an object stays while %s to it, unless its kind is deletable while referenced', async (named, inputs, remedy) => {
  const referring = named.replaceAll('ns/', `${NAMESPACE}/`);
  const message = `${referring} to this object, which is deleted once nothing does: ${remedy}`;
  const { managed, things } = await manage(deleted(), { things: both(), inputs });
  await expect(finalize(managed)).rejects.toThrow(expect.objectContaining({ reason: 'DeletionBlocked', message }));
  expect(things.ids).toEqual(['thg_2', 'thg_1']);
  const free = await manage(deleted(), { things: both(), inputs, kind: { deletableWhileReferenced: true } });
  await finalize(free.managed);
  expect(free.things.ids).toEqual([]);
});
