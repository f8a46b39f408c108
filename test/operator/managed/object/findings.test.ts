import { expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import {
  adoptionIgnored,
  available,
  driftCorrected,
  observedReady,
  observedSynced,
  progress,
  tokenUnavailable,
  UP_TO_DATE,
  unchanged,
  withNote,
} from '../../../../src/operator/managed/object/findings.ts';
import { condition, object } from '../../objects.ts';

const remote = { id: 'ipp_1', uri: 'http://x' };
const corrected = condition('Synced', 'True', { reason: 'DriftCorrected', message: 'reverted' });
const withSynced = (synced: object): KubeObject => object({ status: { conditions: [synced] } });

test.each<[string, KubeObject, object]>([
  ['is up to date', object(), UP_TO_DATE],
  ['still shows the last correction', withSynced(corrected), corrected],
  ['shows no correction of an older generation', withSynced({ ...corrected, observedGeneration: 0 }), UP_TO_DATE],
  ['shows no correction that has failed since', withSynced({ ...corrected, status: 'False' }), UP_TO_DATE],
  ['shows no message for another reason', withSynced({ ...corrected, reason: 'Paused' }), UP_TO_DATE],
])('a resource that needs no update %s', (_, of, expected) => {
  expect(unchanged(of)).toEqual(expected);
});

test.each([
  ['available', available(remote), 'True', 'Available', 'ipp_1 matches the spec'],
  ['reverted', driftCorrected(remote, 'spec.a'), 'True', 'DriftCorrected', 'ipp_1 differed from the spec in spec.a'],
  ['without its token', tokenUnavailable('cr_1', { what: 'token' }), 'False', 'TokenUnavailable', 'rotate-requested'],
  ['observed', observedReady(remote), 'True', 'Available', 'ipp_1 exists'],
  ['observed and equal', observedSynced([]), 'True', 'Observed', 'Only observed'],
  ['different', observedSynced(['acl', 'b']), 'True', 'Observed', 'Only observed; differs in spec.acl, spec.b'],
])('the finding of a resource that is %s', (_, finding, status, reason, message) => {
  expect(finding).toMatchObject({ status, reason, message: expect.stringContaining(message) });
});

test.each([
  ['is Ready', 'True', 'Available', false, []],
  ['is paused', 'Unknown', 'Paused', false, []],
  ['is refused', 'False', 'Rejected', false, ['Stalled']],
  ['has expired', 'False', 'Expired', false, ['Stalled']],
  ['cannot be written for now', 'False', 'KubernetesError', true, ['Reconciling']],
  ['waits for a reference', 'False', 'ReferenceNotFound', false, ['Reconciling']],
  ['waits for modules', 'False', 'WaitingForModules', false, ['Reconciling']],
] as const)('an object that %s tells kstatus so', (_, status, reason, isTransient, expected) => {
  const conditions = Object.entries(progress({ status, reason, message: 'm' }, isTransient));
  const present = conditions.filter(([, finding]) => finding !== undefined);
  expect(present).toEqual(expected.map((type) => [type, { status: 'True', reason, message: 'm' }]));
});

test('the annotation adopt is ignored, with a note, if the object has another resource', () => {
  expect(adoptionIgnored(object({}, { adopt: 'ipp_1', externalId: 'ipp_1' }))).toBeUndefined();
  const note = adoptionIgnored(object({}, { adopt: 'ipp_2', externalId: 'ipp_1' }));
  expect(note).toMatch(/adopt has no effect, since this object has ipp_1: .* to adopt ipp_2$/);
  expect(withNote(UP_TO_DATE, note)).toEqual({ ...UP_TO_DATE, message: `${UP_TO_DATE.message}; ${note}` });
  expect(withNote(UP_TO_DATE, undefined)).toEqual(UP_TO_DATE);
});
