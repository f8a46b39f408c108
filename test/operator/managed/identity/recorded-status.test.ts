import { expect, test } from 'vitest';
import { z } from 'zod';
import { FINALIZER } from '../../../../src/operator/contract/names.ts';
import { Blocked } from '../../../../src/operator/managed/declaration/external.ts';
import { readSpec } from '../../../../src/operator/managed/declaration/spec.ts';
import {
  doubtAbout,
  hasFinalizer,
  idNotAdopted,
  isDeleting,
  isFinalized,
  isPaused,
  isUnfinished,
  looksSettled,
  readStatus,
  shownIdentity,
  wasInSync,
} from '../../../../src/operator/managed/identity/recorded-status.ts';
import { condition, object } from '../../objects.ts';

const retiring = [{ id: 'a', generation: 1, after: '2026-11-21T10:00:00.000Z' }];
const status = { id: 'b', createGeneration: 2, retiring };

const shown = (generation: number) => ({ externalId: 'b', generation, createKey: undefined });

test('a retired resource without a time is not one that the status shows', () => {
  const edited = [{ id: 'x', generation: 1, after: 'tomorrow' }, ...retiring];
  expect(shownIdentity(object({ status: { ...status, retiring: edited } }))).toEqual({ ...shown(2), retiring });
});

test.each([
  ['what it kept', status, { ...shown(2), retiring }],
  ['what it kept of an adoption', { id: 'b', createGeneration: 0 }, { ...shown(0), retiring: [] }],
  ['none of what was only observed', { id: 'b' }, undefined],
  ['none between two generations', { createGeneration: 2 }, undefined],
  ['none when there is no status', undefined, undefined],
])('the identity that the status shows is %s', (_, kept, expected) => {
  expect(shownIdentity(object({ status: kept }))).toEqual(expected);
});

const settled = { externalId: 'b', createGeneration: '2', createKey: 'k', retiring: JSON.stringify(retiring) };

test.each([
  ['not lost when the status says the same', settled, status, 'none'],
  ['not lost when there was none', {}, undefined, 'none'],
  ['not lost when the resource was only observed', { adopt: 'b' }, { id: 'b' }, 'none'],
  ['lost when only the status has it', {}, status, 'lost'],
  ['lost when all that is left is something else', { adopt: 'c' }, status, 'lost'],
  ['different when the id was edited', { ...settled, externalId: 'c' }, status, 'differs'],
  ['different when the id was removed', { ...settled, externalId: '' }, status, 'differs'],
  ['different when the generation was edited', { ...settled, createGeneration: '9' }, status, 'differs'],
  ['different when what is to be retired was removed', { ...settled, retiring: '' }, status, 'differs'],
  ['different when the status is lost, or not yet written', settled, undefined, 'differs'],
  ['different when it is only begun, or somebody has written so', { createGeneration: '1' }, undefined, 'differs'],
])('the identity in the annotations is %s', (_, annotations, kept, expected) => {
  expect(doubtAbout(object({ status: kept }, annotations))).toBe(expected);
});

const failed = { conditions: [condition('Ready', 'False')] };
test.each([
  ['has never succeeded', true, { createGeneration: '1' }, failed],
  ['has succeeded before its annotations were lost', false, {}, { ...failed, id: 'b' }],
  ['has recorded its resource', false, { externalId: 'b', createGeneration: '1' }, failed],
  ['replaces another resource', false, { createGeneration: '3', retiring: JSON.stringify(retiring) }, failed],
  ['may have lost everything', false, {}, undefined],
  ['may have lost everything, and has failed since', false, {}, failed],
  ['has not failed either', false, { createGeneration: '1' }, { conditions: [condition('Synced', 'False')] }],
])('an object that %s: is it unfinished? %s', (_, expected, annotations, kept) => {
  expect(isUnfinished(object({ status: kept }, annotations))).toBe(expected);
});

const adopted = { id: 'b', adopted: 'x' };
test.each([
  ['one that it does not have', { externalId: 'b', createGeneration: '1', adopt: 'x' }, {}, 'x'],
  ['one that it had once created', { externalId: 'b', adopt: 'a', retiring: JSON.stringify(retiring) }, {}, 'a'],
  [
    'none when it has replaced that',
    { externalId: 'b', adopt: 'x', retiring: JSON.stringify([{ ...retiring[0], id: 'x', generation: 0 }]) },
    {},
    undefined,
  ],
  ['none without the annotation', { externalId: 'b' }, {}, undefined],
  ['none when it has that', { externalId: 'b', adopt: 'b' }, {}, undefined],
  ['none when it has nothing yet', { adopt: 'x', createGeneration: '1' }, {}, undefined],
  [
    'none when it has taken the place of that',
    { externalId: 'b', createGeneration: '1', adopt: 'x' },
    adopted,
    undefined,
  ],
])('an object whose annotation adopt came too late: it names %s', (_, annotations, kept, expected) => {
  expect(idNotAdopted(object({ status: kept }, annotations))).toBe(expected);
});

const schema = z.object({ name: z.string(), list: z.array(z.object({ size: z.int() })).default([]) });

test.each([
  ['the field', { name: 1 }, 'spec.name: '],
  ['the element of a list', { name: 'a', list: [{ size: 1 }, { size: 'x' }] }, 'spec.list[1].size: '],
  ['the spec that is missing', undefined, 'spec.name: '],
])('an invalid spec is reported with %s', (_, spec, expected) => {
  expect(() => readSpec(schema, object({ spec }))).toThrow(Blocked);
  expect(() => readSpec(schema, object({ spec }))).toThrow(expected);
});

test('a valid spec gets its defaults', () => {
  expect(readSpec(schema, object({ spec: { name: 'a' } }))).toEqual({ name: 'a', list: [] });
});

test.each([
  ['what it says', { id: 'x' }, { id: 'x' }],
  ['none when there is none', undefined, {}],
  ['none when it makes no sense', { conditions: 'many' }, {}],
])('a status is %s', (_, kept, expected) => {
  expect(readStatus(object({ status: kept }))).toEqual(expected);
});

test.each([
  'id',
  'adopted',
  'ownerId',
  'createGeneration',
  'retiring',
  'observedGeneration',
  'sources',
  'references',
  'lastHandledRotateAt',
  'lastHandledReconcileAt',
  'conditions',
])('of a status, nothing is believed when its %s makes no sense', (name) => {
  expect(readStatus(object({ status: { uri: 'x', [name]: { any: 'thing' } } }))).toEqual({});
});

const deletionTimestamp = '2026-11-21T10:00:00Z';

test.each([
  ['paused by the annotation', isPaused, object({}, { paused: 'true' }), true],
  ['paused by any other value', isPaused, object({}, { paused: 'yes' }), true],
  ['paused by an empty value', isPaused, object({}, { paused: '' }), true],
  ['not paused by false', isPaused, object({}, { paused: 'false' }), false],
  ['not paused by False', isPaused, object({}, { paused: 'False' }), false],
  ['deleting once that was asked for', isDeleting, object({ metadata: { deletionTimestamp: 'x' } }), true],
  ['not deleting else', isDeleting, object(), false],
  [
    'finalized when only others hold it',
    isFinalized,
    object({ metadata: { deletionTimestamp, finalizers: ['a'] } }),
    true,
  ],
  [
    'not finalized while we do',
    isFinalized,
    object({ metadata: { deletionTimestamp, finalizers: [FINALIZER] } }),
    false,
  ],
  ['not finalized before it is deleted', isFinalized, object(), false],
  ['held by our finalizer', hasFinalizer, object({ metadata: { finalizers: ['a', FINALIZER] } }), true],
  ['not held by that of others', hasFinalizer, object({ metadata: { finalizers: ['a'] } }), false],
] as const)('an object is %s', (_, is, of, expected) => {
  expect(is(of)).toBe(expected);
});

const good = { id: 'x', observedGeneration: 1, conditions: [condition('Ready', 'True'), condition('Synced', 'True')] };
const resolved = { ...condition('Ready', 'True'), type: 'ReferencesResolved' };
const shownGood = { ...good, createGeneration: 1 };
const annotations = { externalId: 'x', createGeneration: '1' };
const metadata = { finalizers: [FINALIZER] };

test.each([
  ['when both conditions are true', good, true],
  ['not when one is not', { ...good, conditions: [condition('Ready', 'False'), condition('Synced', 'True')] }, false],
  [
    'not when it is others that are',
    { ...good, conditions: [...good.conditions.slice(0, 1), condition('Synced', 'False'), resolved] },
    false,
  ],
  ['not when there are none', { ...good, conditions: undefined }, false],
  ['not when one is missing', { ...good, conditions: [condition('Ready', 'True')] }, false],
  [
    'not when one is about another generation',
    { ...good, conditions: [condition('Ready', 'True'), condition('Synced', 'True', { observedGeneration: 0 })] },
    false,
  ],
  ['not when all is about another generation', { ...good, observedGeneration: 0 }, false],
])('an object was in sync %s', (_, status, expected) => {
  expect(wasInSync(readStatus(object({ status })), object({ status }))).toBe(expected);
});

test.each([
  ['when it was in sync', object({ status: shownGood, metadata }, annotations), true],
  ['not when it lost its finalizer', object({ status: shownGood }, annotations), false],
  [
    'when it was adopted and is in sync',
    object({ status: { ...good, createGeneration: 0 }, metadata }, { externalId: 'x' }),
    true,
  ],
  ['when it observes what it names', object({ status: good }, { adopt: 'x' }), true],
  ['not without a status', object({ metadata }, annotations), false],
  ['not when it was not in sync', object({ status: { ...shownGood, conditions: [] }, metadata }, annotations), false],
  [
    'not when another resource was recorded since',
    object({ status: shownGood, metadata }, { ...annotations, externalId: 'y' }),
    false,
  ],
  [
    'not when another one was begun since',
    object({ status: shownGood, metadata }, { createGeneration: '2', adopt: 'x' }),
    false,
  ],
  [
    'not when its annotations were edited',
    object({ status: shownGood, metadata }, { ...annotations, createGeneration: '7' }),
    false,
  ],
  ['not when it is paused', object({ status: shownGood, metadata }, { ...annotations, paused: 'true' }), false],
  [
    'not when it is being deleted',
    object({ status: shownGood, metadata: { ...metadata, deletionTimestamp: 'x' } }, annotations),
    false,
  ],
  [
    'not when a reconcile was asked for',
    object({ status: shownGood, metadata }, { ...annotations, reconcileRequestedAt: 't' }),
    false,
  ],
  [
    'when the reconcile that was asked for was made',
    object(
      { status: { ...shownGood, lastHandledReconcileAt: 't' }, metadata },
      { ...annotations, reconcileRequestedAt: 't' },
    ),
    true,
  ],
  [
    'not when a rotation was asked for',
    object({ status: shownGood, metadata }, { ...annotations, rotateRequestedAt: 't' }),
    false,
  ],
  [
    'when the rotation that was asked for was made',
    object({ status: shownGood, metadata }, { ...annotations, rotateRequestedAt: 't', rotateHandledAt: 't' }),
    true,
  ],
])('after a restart, an object looks settled %s', (_, of, expected) => {
  expect(looksSettled(of)).toBe(expected);
});
