import { expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import {
  adoptionIgnored,
  available,
  driftCorrected,
  observedReady,
  observedSynced,
  specPaths,
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
  ['does not show what was said for another reason', withSynced({ ...corrected, reason: 'Paused' }), UP_TO_DATE],
])('a resource that needs no update %s', (_, of, expected) => {
  expect(unchanged(of)).toEqual(expected);
});

test.each([
  ['available', available(remote), 'True', 'Available', 'ipp_1 matches the spec'],
  [
    'reverted',
    driftCorrected(remote, 'spec.rules'),
    'True',
    'DriftCorrected',
    'ipp_1 differed from the spec in spec.rules; the change was reverted',
  ],
  [
    'without its token',
    tokenUnavailable('cr_1', { what: 'token' }),
    'False',
    'TokenUnavailable',
    'rotate-requested-at',
  ],
  ['only observed', observedReady(remote), 'True', 'Available', 'ipp_1 exists'],
  ['observed and equal', observedSynced([]), 'True', 'Observed', 'Only observed'],
  ['observed and different', observedSynced(['acl']), 'True', 'Observed', 'Only observed; differs in spec.acl'],
])('the finding of a resource that is %s', (_, { status, reason, message }, ...expected) => {
  expect([status, reason]).toEqual(expected.slice(0, 2));
  expect(message).toContain(expected[2]);
});

test('fields are named as in the spec', () => {
  expect(specPaths(['acl', 'metadata'])).toBe('spec.acl, spec.metadata');
});

test('an observed resource that is as declared differs in nothing', () => {
  expect(observedSynced([]).message).toBe('Only observed');
});

test.each([
  ['none', {}, undefined],
  ['for what the object has', { adopt: 'ipp_1', externalId: 'ipp_1' }, undefined],
  [
    'for another resource than the object has',
    { adopt: 'ipp_2', externalId: 'ipp_1' },
    'the annotation tunnel-operator.dev/adopt has no effect, since this object has ipp_1: remove it, and create another object with it to adopt ipp_2',
  ],
])('of an annotation to adopt something, where it is %s', (_, annotations, expected) => {
  expect(adoptionIgnored(object({}, annotations))).toBe(expected);
});

test('a note is added to what a finding says', () => {
  expect(withNote(UP_TO_DATE, undefined)).toEqual(UP_TO_DATE);
  expect(withNote(UP_TO_DATE, 'mind')).toEqual({ ...UP_TO_DATE, message: `${UP_TO_DATE.message}; mind` });
});
