import { expect, test } from 'vitest';
import { FINALIZER } from '../../../../src/operator/contract/names.ts';
import {
  DEFAULT_STATUS,
  doubtAbout,
  hasFinalizer,
  idNotAdopted,
  isDeleting,
  isFinalized,
  isPaused,
  isUnfinished,
  looksSettled,
  managedStatus,
  readStatus,
  shownIdentity,
  wasInSync,
} from '../../../../src/operator/managed/identity/recorded-status.ts';
import { condition, object } from '../../objects.ts';

const retiring = [{ id: 'a', generation: 1, after: '2026-11-21T10:00:00.000Z' }];
const status = { id: 'b', createGeneration: 2, retiring };

const shown = (generation: number) => ({ externalId: 'b', generation, createKey: undefined });

test('a retired resource without a valid time is ignored in the status', () => {
  const edited = [{ id: 'x', generation: 1, after: 'tomorrow' }, ...retiring];
  expect(shownIdentity(object({ status: { ...status, retiring: edited } }))).toEqual({ ...shown(2), retiring });
});

test.each([
  ['that of a created resource', status, { ...shown(2), retiring }],
  ['that of an adopted resource', { id: 'b', createGeneration: 0 }, { ...shown(0), retiring: [] }],
  ['none if the resource was only observed', { id: 'b' }, undefined],
  ['none between two generations', { createGeneration: 2 }, undefined],
  ['none when there is no status', undefined, undefined],
])('the identity in the status is %s', (_, kept, expected) => {
  expect(shownIdentity(object({ status: kept }))).toEqual(expected);
});

const settled = { externalId: 'b', createGeneration: '2', createKey: 'k', retiring: JSON.stringify(retiring) };

test.each([
  ['not lost when the status says the same', settled, status, 'none'],
  ['not lost when there was none', {}, undefined, 'none'],
  ['not lost when the resource was only observed', { adopt: 'b' }, { id: 'b' }, 'none'],
  ['lost when only the status has it', {}, status, 'lost'],
  ['lost when only another id to adopt is left', { adopt: 'c' }, status, 'lost'],
  ['different when the id was edited', { ...settled, externalId: 'c' }, status, 'differs'],
  ['different when the id was removed', { ...settled, externalId: '' }, status, 'differs'],
  ['different when the generation was edited', { ...settled, createGeneration: '9' }, status, 'differs'],
  ['different when the list of retired ones was removed', { ...settled, retiring: '' }, status, 'differs'],
  ['different when the status is lost, or not yet written', settled, undefined, 'differs'],
  ['different when it is only begun, or was edited to be so', { createGeneration: '1' }, undefined, 'differs'],
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
  ['was paused after it had failed', true, { createGeneration: '1' }, { conditions: [condition('Ready', 'Unknown')] }],
  ['is new', false, { createGeneration: '1' }, DEFAULT_STATUS],
  ['has not failed yet', false, { createGeneration: '1' }, { conditions: [condition('Synced', 'False')] }],
])('an object that %s is unfinished: %s', (_, expected, annotations, kept) => {
  expect(isUnfinished(object({ status: kept }, annotations))).toBe(expected);
});

const replaced = JSON.stringify([{ ...retiring[0], id: 'x', generation: 0 }]);
const adopted = { id: 'b', adopted: 'x' };
test.each([
  ['one that the object does not have', { externalId: 'b', createGeneration: '1', adopt: 'x' }, {}, 'x'],
  ['one that the object created before', { externalId: 'b', adopt: 'a', retiring: JSON.stringify(retiring) }, {}, 'a'],
  ['none if the object has replaced it', { externalId: 'b', adopt: 'x', retiring: replaced }, {}, undefined],
  ['none without the annotation', { externalId: 'b' }, {}, undefined],
  ['none if the object has it', { externalId: 'b', adopt: 'b' }, {}, undefined],
  ['none if the object has no resource yet', { adopt: 'x', createGeneration: '1' }, {}, undefined],
  ['none if the object once adopted it', { externalId: 'b', createGeneration: '1', adopt: 'x' }, adopted, undefined],
])('the id that came too late to be adopted is %s', (_, annotations, kept, expected) => {
  expect(idNotAdopted(object({ status: kept }, annotations))).toBe(expected);
});

test.each([
  ['as written', { id: 'x' }, { id: 'x' }],
  ['as empty if there is none', undefined, {}],
  ['as empty if it is malformed', { conditions: 'many' }, {}],
  ['as empty if it is the default', DEFAULT_STATUS, {}],
  ['as empty if only the generation is the default', { observedGeneration: -1 }, {}],
  ['as written if it has more than the default', { ...DEFAULT_STATUS, id: 'x' }, { ...DEFAULT_STATUS, id: 'x' }],
  ['as written if it shows a failure alone', failed, failed],
])('a status is read %s', (_, kept, expected) => {
  expect(readStatus(object({ status: kept }))).toEqual(expected);
});

test.each(Object.keys(managedStatus.shape))('a status counts as empty when its %s is invalid', (name) => {
  expect(readStatus(object({ status: { uri: 'x', [name]: { any: 'thing' } } }))).toEqual({});
});

const deletionTimestamp = '2026-11-21T10:00:00Z';

test.each([
  ['paused by any value', isPaused, object({}, { paused: 'yes' }), true],
  ['paused by an empty value', isPaused, object({}, { paused: '' }), true],
  ['not paused by False', isPaused, object({}, { paused: 'False' }), false],
  ['not paused without the annotation', isPaused, object(), false],
  ['deleting on request', isDeleting, object({ metadata: { deletionTimestamp } }), true],
  ['not deleting otherwise', isDeleting, object(), false],
  ['finalized without our finalizer', isFinalized, object({ metadata: { deletionTimestamp } }), true],
  ['not finalized with it', isFinalized, object({ metadata: { deletionTimestamp, finalizers: [FINALIZER] } }), false],
  ['not finalized before it is deleted', isFinalized, object(), false],
  ['held by our finalizer', hasFinalizer, object({ metadata: { finalizers: ['a', FINALIZER] } }), true],
  ['not held by others', hasFinalizer, object({ metadata: { finalizers: ['a'] } }), false],
] as const)('an object is %s', (_, is, of, expected) => {
  expect(is(of)).toBe(expected);
});

const [isReady, isSynced] = [condition('Ready', 'True'), condition('Synced', 'True')];
const good = { id: 'x', observedGeneration: 1, conditions: [isReady, isSynced] };
const resolved = { ...isReady, type: 'ReferencesResolved' };

test.each([
  ['when both conditions are true', {}, true],
  ['not when one is false', { conditions: [condition('Ready', 'False'), isSynced] }, false],
  ['not with another condition instead', { conditions: [isReady, condition('Synced', 'False'), resolved] }, false],
  ['not without conditions', { conditions: undefined }, false],
  ['not when one is missing', { conditions: [isReady] }, false],
  ['not with an outdated condition', { conditions: [isReady, { ...isSynced, observedGeneration: 0 }] }, false],
  ['not with an outdated observedGeneration', { observedGeneration: 0 }, false],
])('an object was in sync %s', (_, more, expected) => {
  const status = { ...good, ...more };
  expect(wasInSync(readStatus(object({ status })), object({ status }))).toBe(expected);
});

const shownGood = { ...good, createGeneration: 1 };
const metadata = { finalizers: [FINALIZER] };
const recorded = { externalId: 'x', createGeneration: '1' };

test.each<[string, boolean, Parameters<typeof object>[0], Parameters<typeof object>[1]]>([
  ['in sync', true, {}, {}],
  ['without its finalizer', false, { metadata: {} }, {}],
  ['in sync with what it adopted', true, { status: { ...good, createGeneration: 0 } }, { createGeneration: '' }],
  ['observing the resource it names', true, { status: good }, { externalId: '', createGeneration: '', adopt: 'x' }],
  ['without a status', false, { status: undefined }, {}],
  ['not in sync', false, { status: { ...shownGood, conditions: [] } }, {}],
  ['with another resource recorded since', false, {}, { externalId: 'y' }],
  ['with another create begun since', false, {}, { externalId: '', createGeneration: '2', adopt: 'x' }],
  ['with edited annotations', false, {}, { createGeneration: '7' }],
  ['paused', false, {}, { paused: 'true' }],
  ['being deleted', false, { metadata: { ...metadata, deletionTimestamp } }, {}],
  ['with a requested reconcile', false, {}, { reconcileRequestedAt: 't' }],
  ['with that handled', true, { status: { ...shownGood, lastHandledReconcileAt: 't' } }, { reconcileRequestedAt: 't' }],
  ['with a requested rotation', false, {}, { rotateRequestedAt: 't' }],
  ['after that rotation', true, {}, { rotateRequestedAt: 't', rotateHandledAt: 't' }],
  ['with an adoption that came too late', false, {}, { adopt: 'z' }],
])('after a restart, an object %s looks settled: %s', (_, expected, fields, annotations) => {
  const of = object({ status: shownGood, metadata, ...fields }, { ...recorded, ...annotations });
  expect(looksSettled(of)).toBe(expected);
});
