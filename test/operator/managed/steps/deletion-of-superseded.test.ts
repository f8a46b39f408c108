/** What becomes of the resources that an object has superseded, while it lives. */
import { describe, expect, test } from 'vitest';
import { FINALIZER } from '../../../../src/operator/contract/names.ts';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { ObjectStore } from '../../../../src/operator/kube/object-store.ts';
import { StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import type { Inputs } from '../../../../src/operator/managed/knowledge/inputs.ts';
import { objectKey } from '../../../../src/operator/managed/knowledge/reference-index.ts';
import { retireSuperseded } from '../../../../src/operator/managed/steps/deletion.ts';
import { noInputs } from '../../inputs.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { NAMESPACE } from '../placing.ts';
import { apiError, SERVING, SETTINGS, type ThingKind, Things, tokens } from '../things.ts';

const NOW = new Date('2026-11-21T12:00:00.000Z');
const at = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
const entry = (id: string, generation: number, minutes = -60) => ({
  id,
  generation,
  after: at(minutes).toISOString(),
});
type Entry = ReturnType<typeof entry>;

/** Has thg_c, in the place of those that are listed. */
const replacing = (retiring: Entry[], fields: Parameters<typeof object>[0] = {}) =>
  object(fields, { externalId: 'thg_c', createGeneration: '3', retiring: JSON.stringify(retiring) });
/** Is about to create what is to take their place. */
const creating = (...retiring: Entry[]) => object({}, { createGeneration: '3', retiring: JSON.stringify(retiring) });

const all = () => new Things().makeFor('thg_a', 'thg_b', 'thg_c');
const [A, B] = [entry('thg_a', 1), entry('thg_b', 2)];

/** What is still there, on the list, and said, and when it is looked at again. */
async function retire(of: KubeObject, things: Things, setting: Omit<Parameters<typeof manage>[1], 'things'> = {}) {
  const { managed, identity, events } = await manage(of, { ...setting, things });
  const next = await retireSuperseded(managed, NOW);
  return { ids: things.ids, listed: (await identity()).retiring.map(({ id }) => id), said: await events(), next };
}

test.each<[string, Entry[], object]>([
  [
    'is deleted when it is due',
    [A],
    { ids: ['thg_b', 'thg_c'], listed: [], said: ['OldResourceDeleted: Deleted thg_a'], next: undefined },
  ],
  [
    'is deleted together with others',
    [A, B],
    { ids: ['thg_c'], listed: [], said: ['OldResourceDeleted: Deleted thg_a, thg_b'], next: undefined },
  ],
  [
    'is kept until then',
    [A, entry('thg_b', 2, 5)],
    { ids: ['thg_b', 'thg_c'], listed: ['thg_b'], said: ['OldResourceDeleted: Deleted thg_a'], next: at(5) },
  ],
])('what was superseded %s', async (_, retiring, expected) => {
  expect(await retire(replacing(retiring), all())).toEqual(expected);
});

test('nothing is written while nothing is due, and nothing asked', async () => {
  const of = replacing([entry('thg_a', 1, 5)]);
  const { managed, events, object: written, outdate } = await manage(of, { things: all() });
  await outdate();
  const before = await written();
  expect(await retireSuperseded(managed, NOW)).toEqual(at(5));
  expect([await written(), await events()]).toEqual([before, []]);
});

test('nothing is deleted by the list in a stale cache', async () => {
  const { managed, things, outdate } = await manage(replacing([A]), { things: all() });
  await outdate();
  await expect(retireSuperseded(managed, NOW)).rejects.toThrow(StaleObject);
  expect(things.ids).toContain('thg_a');
});

test('what others refer to is tried again, the later the longer it is held, while the rest goes', async () => {
  const things = all();
  things.inUse.add('thg_a');
  expect(await retire(replacing([A, B]), things)).toEqual({
    ids: ['thg_a', 'thg_c'],
    listed: ['thg_a'],
    said: [
      'DeletionBlocked: thg_a is superseded, and cannot be deleted yet: msg of RESOURCE_IN_USE',
      'OldResourceDeleted: Deleted thg_b',
    ],
    next: at(30),
  });
});

test('an API that cannot delete anything is no refusal', async () => {
  const things = all();
  things.isReadOnly = true;
  await expect(retire(replacing([A]), things)).rejects.toThrow(apiError('UNAVAILABLE'));
});

const KEPT = { listed: ['thg_a'], said: [], next: at(1) };

describe('what was superseded is kept for a while yet', () => {
  /** An object that refers to this one has used thg_a, and has yet to follow. */
  function used(): Inputs {
    const inputs = noInputs();
    const store = new ObjectStore();
    const references = [{ field: 'spec.thing', id: 'thg_a' }];
    store.put(object({ name: 'b', metadata: { namespace: NAMESPACE }, status: { references } }));
    inputs.index.set(objectKey('Other', NAMESPACE, 'b'), new Set([objectKey('Thing', NAMESPACE, 'a')]));
    inputs.addPeer('Other', { store, enqueue: () => {} });
    return inputs;
  }

  test.each<[string, KubeObject, Parameters<typeof manage>[1]]>([
    ['if its successor is yet to be recorded', creating(A), {}],
    ['if others are yet to follow', replacing([A]), { inputs: used() }],
    ['if its token is in use', replacing([A]), { kind: tokens(['thg_a']) }],
    ['if its successor does not serve yet', replacing([A], { spec: { open: true } }), { kind: SERVING }],
  ])('%s', async (_, of, setting) => {
    const { ids, ...rest } = await retire(of, all(), setting);
    expect(rest).toEqual(KEPT);
    expect(ids).toContain('thg_a');
  });

  test.each<[string, Partial<ThingKind>, Inputs]>([
    ['others that need not follow', { deletableWhileReferenced: true }, used()],
    ['a token that is used no more', tokens(['thg_c']), noInputs()],
  ])('but not for %s', async (_, kind, inputs) => {
    expect((await retire(replacing([A]), all(), { kind, inputs })).listed).toEqual([]);
  });

  test('but only the last of several, whose tokens nobody has', async () => {
    expect((await retire(creating(A, B), all(), { kind: tokens([]) })).listed).toEqual(['thg_b']);
  });

  test('and so are all, if any may be the one that serves', async () => {
    expect((await retire(creating(A, B), all())).listed).toEqual(['thg_a', 'thg_b']);
  });

  test.each([
    ['as was seen', false, true],
    ['as the API says', true, undefined],
  ])('but not once its successor serves, %s', async (_, serves, seen) => {
    const things = all();
    const successor = seen === undefined ? undefined : things.make('thg_c', { open: seen });
    things.make('thg_c', { open: serves });
    const of = replacing([A], { spec: { open: true } });
    const { managed, identity } = await manage(of, { things, kind: SERVING });
    await retireSuperseded(managed, NOW, successor);
    expect((await identity()).retiring).toEqual([]);
  });
});

test.each([
  ['a token', tokens([]), 'OldCredentialRevoked'],
  ['what can be read again', tokens([], { isOneTime: false }), 'OldResourceDeleted'],
])('the deletion of what hands out %s is told as such', async (_, kind, reason) => {
  expect((await retire(replacing([A]), all(), { kind })).said).toEqual([`${reason}: Deleted thg_a`]);
});

describe('what another object claims', () => {
  const ADOPTED = entry('thg_x', 0);
  const other = object({ name: 'old', created: '2020-11-20T10:00:00Z', status: { id: 'thg_x', createGeneration: 1 } });
  const LEFT = { ids: ['thg_x', 'thg_c'], listed: [], said: [], next: undefined };
  const DELETED = { ids: ['thg_c'], listed: [], said: ['OldResourceDeleted: Deleted thg_x'], next: undefined };
  const shown = { status: { id: 'thg_c', createGeneration: 3, retiring: [ADOPTED] } };
  const adopted = () => new Things('thg_x').makeFor('thg_c');

  test.each<[string, KubeObject, Things, Parameters<typeof manage>[1], object]>([
    ['is left to it', replacing([ADOPTED]), adopted(), { others: [other] }, LEFT],
    ['is left to it, whoever else had it', replacing([ADOPTED], shown), adopted(), { others: [other] }, LEFT],
    [
      'is deleted nevertheless, if it was created for this object',
      replacing([entry('thg_x', 1)]),
      new Things().makeFor('thg_x', 'thg_c'),
      { others: [other] },
      DELETED,
    ],
    ['is deleted once nobody does', replacing([ADOPTED]), adopted(), {}, DELETED],
    ['is left where nothing may be adopted', replacing([ADOPTED]), adopted(), { mayAdopt: false }, LEFT],
    [
      'is deleted where nothing may be adopted, if this object had it',
      replacing([ADOPTED], shown),
      adopted(),
      { mayAdopt: false },
      DELETED,
    ],
  ])('%s', async (_, of, things, setting, expected) => {
    expect(await retire(of, things, setting)).toEqual(expected);
  });
});

describe('settings of a superseded owner', () => {
  const before = [entry('thg_a', 0), entry('thg_b', 0)];
  const of = object(
    { spec: { of: 'thg_c' }, status: { id: 'thg_c', createGeneration: 0, retiring: before } },
    { externalId: 'thg_c', retiring: JSON.stringify(before) },
  );

  test('are deleted, also if another object waits for them', async () => {
    const waiting = object({ name: 'waiting', spec: { of: 'thg_b' } }, { externalId: 'thg_b' });
    expect(await retire(of, all(), { kind: SETTINGS, others: [waiting] })).toMatchObject({
      ids: ['thg_c'],
      said: ['OldResourceDeleted: Deleted the modules of thg_a, the modules of thg_b'],
      listed: [],
    });
  });

  test('go along with that, if it is about to go', async () => {
    const inputs = noInputs();
    const store = new ObjectStore();
    const metadata = { namespace: NAMESPACE, deletionTimestamp: NOW.toISOString(), finalizers: [FINALIZER] };
    store.put(object({ name: 'owner', metadata, status: { id: 'thg_a' } }));
    inputs.index.set(objectKey('Thing', NAMESPACE, 'a'), new Set([objectKey('Owner', NAMESPACE, 'owner')]));
    inputs.addPeer('Owner', { store, enqueue: () => {} });
    expect(await retire(of, all(), { kind: SETTINGS, inputs })).toMatchObject({
      ids: ['thg_a', 'thg_c'],
      said: ['OldResourceDeleted: Deleted the modules of thg_b'],
      listed: [],
    });
  });
});
