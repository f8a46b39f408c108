import { expect, test } from 'vitest';
import { FINALIZER } from '../../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { ObjectStore } from '../../../../src/operator/kube/object-store.ts';
import { Blocked, StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { Reference } from '../../../../src/operator/managed/declaration/input.ts';
import { objectKey } from '../../../../src/operator/managed/knowledge/reference-index.ts';
import { fateOfRemote, finalize } from '../../../../src/operator/managed/steps/finalization.ts';
import { noInputs } from '../../inputs.ts';
import { condition, object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { NAMESPACE } from '../placing.ts';
import { SETTINGS, Things } from '../things.ts';

test.each([
  ['goes with its object', {}, false, 'delete'],
  ['stays when that is declared', { deletionPolicy: 'Retain' }, false, 'retain'],
  ['stays when it was only observed', { managementPolicy: 'Observe' }, false, 'retain'],
  ['is not touched when an older object has it', {}, true, 'not-ours'],
  [
    'is not touched when an older object has it, nor its Secret released',
    { deletionPolicy: 'Retain' },
    true,
    'not-ours',
  ],
  ['goes, whatever else is wrong in the spec', { rules: 'no list' }, false, 'delete'],
] as const)('the resource %s', (_, spec, hasRival, expected) => {
  expect(fateOfRemote(object({ spec }), hasRival)).toBe(expected);
});

test('the resource of an object with an unknown policy is not touched', () => {
  expect(() => fateOfRemote(object({ spec: { deletionPolicy: 'Orphan' } }), false)).toThrow(Blocked);
});

const NOON = '2026-11-21T12:00:00Z';
const entry = (id: string, generation: number) => ({ id, generation, after: NOON });

/** Being deleted; has thg_1, and has superseded thg_2. */
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

/** Older, and has thg_1. */
const rival = object({ name: 'rival', created: '2020-11-20T10:00:00Z', status: { id: 'thg_1', createGeneration: 1 } });

const both = () => new Things().makeFor('thg_2', 'thg_1');
const taken = () => new Things('thg_1').makeFor('thg_2');

test.each<[string, KubeObject, Things, KubeObject[], string[], string[]]>([
  ['all that it has', deleted(), both(), [], [], ['Deleted: Deleted thg_2, thg_1']],
  [
    'what it has superseded, if the rest is to stay',
    deleted({ deletionPolicy: 'Retain' }),
    both(),
    [],
    ['thg_1'],
    ['Retained: Retained thg_1'],
  ],
  ['what it has superseded, if another object has the rest', deleted(), taken(), [rival], ['thg_1'], []],
])('with an object goes %s', async (_, of, things, others, expected, said) => {
  const { managed, exists, events } = await manage(of, { things, others });
  await finalize(managed);
  expect(things.ids).toEqual(expected);
  expect(await events()).toEqual(said);
  expect(await exists()).toBe(false);
});

test.each<[string, KubeObject, Things, KubeObject[]]>([
  ['is to go', deleted(), both(), []],
  ['it has superseded', deleted({ deletionPolicy: 'Retain' }), both(), []],
  ['it has superseded, though another object has the rest', deleted(), taken(), [rival]],
])('an object stays while something refers to what %s', async (_, of, things, others) => {
  things.inUse.add('thg_2');
  const { managed, object: written } = await manage(of, { things, others });
  await expect(finalize(managed)).rejects.toThrow(expect.objectContaining({ reason: 'DeletionBlocked' }));
  expect((await written()).metadata.finalizers).toEqual([FINALIZER]);
});

test('with an object that waited for what another has goes what was created for it', async () => {
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

/** Being deleted; refers to thg_1. */
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
  ['go if the object that waits for them is being deleted, too', modulesOf(had), [leaving], true],
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

test('nothing is deleted for an object that was finalized before', async () => {
  const things = both();
  const { managed } = await manage(deleted({}, { finalizers: ['example.com/hold'] }), { things });
  await finalize(managed);
  expect(things.ids).toEqual(['thg_2', 'thg_1']);
});

test('nothing is deleted for an object that somebody has changed meanwhile', async () => {
  const { managed, things, outdate } = await manage(deleted(), { things: both() });
  await outdate();
  await expect(finalize(managed)).rejects.toThrow(StaleObject);
  expect(things.ids).toEqual(['thg_2', 'thg_1']);
});

/** What others refer to. @param bound which of them can never refer to another */
function referredTo(count: number, bound: readonly string[] = []) {
  const inputs = noInputs();
  const store = new ObjectStore();
  const names = Array.from({ length: count }, (_, index) => `b${index + 1}`);
  for (const name of names) {
    inputs.index.set(objectKey('Other', NAMESPACE, name), new Set([objectKey('Thing', NAMESPACE, 'a')]));
    store.put(object({ name, metadata: { namespace: NAMESPACE } }));
  }
  const referencesIn = ({ metadata }: KubeObject) => [
    new Reference({ kind: 'Thing', name: 'a', isImmutable: bound.includes(metadata.name) }),
  ];
  inputs.addPeer('Other', { store, referencesIn, enqueue: () => {} });
  return inputs;
}

const ALL_FIVE = 'Other ns/b1, Other ns/b2, Other ns/b3, Other ns/b4, Other ns/b5';

test.each([
  ['Other ns/b1 refers', referredTo(1), 'delete what refers to it, or let that refer to another'],
  ['Other ns/b1, Other ns/b2 refer', referredTo(2, ['b2']), 'delete what refers to it'],
  [`${ALL_FIVE} refer`, referredTo(5), 'delete what refers to it, or let that refer to another'],
  [`${ALL_FIVE} and 2 more refer`, referredTo(7), 'delete what refers to it, or let that refer to another'],
])('an object stays while %s to it', async (referrers, inputs, remedy) => {
  const named = referrers.replaceAll('ns/', `${NAMESPACE}/`);
  const message = `${named} to this object, which is deleted once nothing does: ${remedy}`;
  const { managed, things } = await manage(deleted(), { things: both(), inputs });
  await expect(finalize(managed)).rejects.toThrow(expect.objectContaining({ reason: 'DeletionBlocked', message }));
  expect(things.ids).toEqual(['thg_2', 'thg_1']);
});

test('an object goes whatever refers to it, where its resource may', async () => {
  const { managed, things } = await manage(deleted(), {
    things: both(),
    inputs: referredTo(1),
    kind: { deletableWhileReferenced: true },
  });
  await finalize(managed);
  expect(things.ids).toEqual([]);
});
