import { expect, test } from 'vitest';
import { ANNOTATION } from '../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { waitShownBy } from '../../../src/operator/managed/giving-way.ts';

const OWN = 'edghts_01jd0000000000000000000001/edghtsrt_01jd0000000000000000000001';
const OTHER = 'edghtsrt_01jd0000000000000000000002';
const IN_USE = `spec.match: is already used by ${OTHER}`;

/** An object of another shard, with what its Ready condition says. */
function refused(message: string, { reason = 'Rejected', observedGeneration = 2 } = {}): KubeObject {
  const condition = { type: 'Ready', status: 'False', reason, message, observedGeneration, lastTransitionTime: '' };
  return {
    metadata: {
      name: 'other',
      namespace: 'shop',
      uid: 'u',
      resourceVersion: '1',
      generation: 2,
      creationTimestamp: '2026-11-21T10:00:00Z',
      annotations: { [ANNOTATION.externalId]: OWN, [ANNOTATION.createGeneration]: '1' },
    },
    status: { conditions: [condition] },
  };
}

test.for<[string, KubeObject, string[] | undefined]>([
  ['what another resource has', refused(IN_USE), [OTHER]],
  [
    'what two others have',
    refused(`${IN_USE}; spec.hostports[1]: is already used by edgtls_01jd0000000000000000000003`),
    [OTHER, 'edgtls_01jd0000000000000000000003'],
  ],
  [
    'nothing, if something else is wrong with what it names',
    refused(`spec.edgeRef: ${OTHER} does not exist`),
    undefined,
  ],
  ['nothing, if that was said of an earlier spec', refused(IN_USE, { observedGeneration: 1 }), undefined],
  ['nothing, if the API was away', refused(IN_USE, { reason: 'ApiUnavailable' }), undefined],
])('an object of another shard waits for %s', ([, object, wants]) => {
  const wait = waitShownBy(object, () => object);
  expect(wait?.wants).toEqual(wants);
  if (wait) expect(wait).toMatchObject({ has: [OWN] });
});

test('it waits no more once it says something else, is paused or gone', () => {
  let now: KubeObject | undefined = refused(IN_USE);
  const wait = waitShownBy(now, () => now);
  expect(wait?.isCurrent()).toBe(true);
  const { metadata } = now;
  for (const other of [
    refused('spec.match: must be a path'),
    { ...now, metadata: { ...metadata, annotations: { ...metadata.annotations, [ANNOTATION.paused]: 'true' } } },
    { ...now, metadata: { ...metadata, deletionTimestamp: '2026-11-21T10:00:00Z' } },
    undefined,
  ]) {
    now = other;
    expect(wait?.isCurrent()).toBe(false);
  }
});
