import { expect, test } from 'vitest';
import { ANNOTATION } from '../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { StaleObject } from '../../../src/operator/managed/external.ts';
import { inTurn, waitShownBy } from '../../../src/operator/managed/giving-way.ts';
import { object } from '../objects.ts';
import { manage } from './managed-under-test.ts';
import { NAMESPACE } from './placing.ts';
import { apiError, Things } from './things.ts';

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

const A = `thg_${'1'.repeat(26)}`;
const B = `thg_${'2'.repeat(26)}`;
const C = `thg_${'3'.repeat(26)}`;
const retiring = (...ids: string[]) =>
  JSON.stringify(ids.map((id) => ({ id, generation: 1, after: '2026-11-21T10:00:00Z' })));
const WAITING = apiError('CONFLICT', { '/shape': `is already used by ${B}` });
const OF_A = object({}, { externalId: A });

/** An object that is refused, and another that has B and waits for something, too. */
async function refusedBeside(other: string[], of = OF_A, isOpen = true) {
  const things = new Things();
  for (const id of [A, C]) things.make(id, { open: isOpen });
  const setting = await manage(of, { things });
  const { managed, spec } = setting;
  const woken: string[] = [];
  const wait = (wants: string[]) =>
    managed.waiting.set('other', { has: [B], wants, isCurrent: () => true, wake: () => woken.push('other') });
  wait(other);
  const fail = (error: unknown) =>
    inTurn(managed, spec, async () => {
      throw error;
    });
  return { ...setting, things, woken, wait, fail, waitsFor: () => managed.waiting.circleOf('other').length };
}

test.each<[string, KubeObject]>([
  ['what it has', OF_A],
  ['what is about to be replaced', object({}, { createGeneration: '3', retiring: retiring(C, A) })],
])(
  'of objects that wait for each other, the one that is refused gives up %s, and waits for its turn',
  async (_, of) => {
    const { fail, things, woken, enqueued, events } = await refusedBeside([A], of);
    await expect(fail(WAITING)).rejects.toThrow(StaleObject);
    expect(things.givenUp).toEqual([A]);
    expect(await events()).toEqual([expect.stringContaining('GaveWay')]);
    expect([woken, enqueued]).toEqual([['other'], []]);
  },
);

test.each<[string, Parameters<typeof refusedBeside>, unknown]>([
  ['nobody waits for it', [[C]], WAITING],
  ['it has nothing to give up', [[A], OF_A, false], WAITING],
  ['it is refused for another reason', [[A]], apiError('INVALID_REQUEST', { '/of': `${B} is no policy` })],
  ['it fails for another reason', [[A]], new Error(`something about ${B}`)],
])('an object that is refused gives up nothing if %s', async (_, of, error) => {
  const { fail, things, woken } = await refusedBeside(...of);
  await expect(fail(error)).rejects.toBe(error);
  expect([things.givenUp, woken]).toEqual([[], []]);
});

test('nothing is given up for an object that asks for something else by now', async () => {
  const { fail, things, outdate } = await refusedBeside([A]);
  await outdate();
  await expect(fail(WAITING)).rejects.toThrow(StaleObject);
  expect(things.givenUp).toEqual([]);
});

test('what an object waits for is remembered while the API is away', async () => {
  const { fail, wait, waitsFor } = await refusedBeside([]);
  for (const error of [WAITING, apiError('UNAVAILABLE')]) await expect(fail(error)).rejects.toBe(error);
  wait([A]);
  expect(waitsFor()).toBe(2);
});

test('an object that has got what it waited for waits no more, and those that wait for it are told', async () => {
  const { managed, spec, fail, wait, waitsFor, woken } = await refusedBeside([]);
  await expect(fail(WAITING)).rejects.toBe(WAITING);
  wait([A]);
  expect(await inTurn(managed, spec, async () => 'done')).toBe('done');
  expect([woken, waitsFor()]).toEqual([['other'], 0]);
});

type Refused = Awaited<ReturnType<typeof refusedBeside>>;

test.each<[string, (refused: Refused) => Promise<unknown>, number]>([
  ['it is as it was', ({ outdate }) => outdate(), 2],
  ['its spec has changed', ({ change }) => change({ spec: { size: 2 } }), 0],
  ['it is paused', ({ change }) => change({ metadata: { annotations: { [ANNOTATION.paused]: 'true' } } }), 0],
  ['another one has its name', ({ remove, create }) => remove().then(() => create(OF_A)), 0],
])('whether a refused object still waits, once %s', async (_, happen, expected) => {
  const refused = await refusedBeside([]);
  const { fail, wait, waitsFor, hear } = refused;
  await expect(fail(WAITING)).rejects.toBe(WAITING);
  await happen(refused);
  await hear();
  wait([A]);
  expect(waitsFor()).toBe(expected);
});

test('an object that waits has itself reconciled when that is over', async () => {
  const { managed, fail, enqueued } = await refusedBeside([]);
  await expect(fail(WAITING)).rejects.toBe(WAITING);
  managed.waiting.changed([B]);
  expect(enqueued).toEqual([`${NAMESPACE}/a`]);
});
