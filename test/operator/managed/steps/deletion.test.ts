/** Deleting resources: superseded ones while their object lives, and all of them when it is deleted. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { StaleObject } from '../../../../src/operator/managed/declaration/external.ts';
import { type Identity, readIdentity } from '../../../../src/operator/managed/identity/identity.ts';
import {
  deleteRemote,
  leaveRemote,
  remainsOf,
  retainRemote,
  retireSuperseded,
  retryAfter,
  whatStays,
} from '../../../../src/operator/managed/steps/deletion.ts';
import { condition, object } from '../../objects.ts';
import { manage, owners, referrers } from '../managed-under-test.ts';
import { apiError, SERVING, SETTINGS, type ThingKind, Things, tokens } from '../things.ts';

const elsewhere = { id: 'there/u1', namespace: 'shop', kind: 'Thing', name: 'a' };
const NOW = new Date('2026-11-21T12:00:00.000Z');
const at = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
const entry = (id: string, generation: number, minutes = -60) => ({ id, generation, after: at(minutes).toISOString() });
type Entry = ReturnType<typeof entry>;
const nothing: Identity = { externalId: undefined, generation: 0, createKey: undefined, retiring: [] };
const all = () => new Things().makeFor('thg_a', 'thg_b', 'thg_c');
const [A, B] = [entry('thg_a', 1), entry('thg_b', 2)];

/** An object with thg_c, which has replaced the listed resources. */
const replacing = (retiring: Entry[], fields: Parameters<typeof object>[0] = {}) =>
  object(fields, { externalId: 'thg_c', createGeneration: '3', retiring: JSON.stringify(retiring) });
/** An object that is about to create the successor of the listed resources. */
const creating = (...retiring: Entry[]) => object({}, { createGeneration: '3', retiring: JSON.stringify(retiring) });

type Setting = Omit<NonNullable<Parameters<typeof manage>[1]>, 'things'>;

describe('retirement', () => {
  /** What exists, is listed and was reported afterwards, and when the next attempt is due. */
  async function retire(of: KubeObject, things: Things, setting: Setting = {}) {
    const { managed, identity, events } = await manage(of, { ...setting, things });
    const next = await retireSuperseded(managed, NOW);
    return { ids: things.ids, listed: (await identity()).retiring.map(({ id }) => id), said: await events(), next };
  }

  test('deletes resources that are due, and keeps the others until they are', async () => {
    expect(await retire(replacing([A, B, entry('thg_x', 0, 5)]), all())).toEqual({
      ids: ['thg_c'],
      listed: ['thg_x'],
      said: ['OldResourceDeleted: Deleted thg_a, thg_b'],
      next: at(5),
    });
  });

  test('leaves what another cluster has taken over', async () => {
    const things = all();
    things.managers.set('thg_a', elsewhere);
    expect(await retire(replacing([A, B]), things)).toEqual({
      ids: ['thg_a', 'thg_c'],
      listed: [],
      said: [
        'Retained: Left thg_a to the Thing shop/a of the cluster there, which manages it',
        'OldResourceDeleted: Deleted thg_b',
      ],
      next: undefined,
    });
  });

  test('does nothing while nothing is due, and deletes nothing from a stale list', async () => {
    const {
      managed,
      events,
      object: written,
      outdate,
    } = await manage(replacing([entry('thg_a', 1, 5)]), { things: all() });
    await outdate();
    const before = await written();
    expect(await retireSuperseded(managed, NOW)).toEqual(at(5));
    expect([await written(), await events()]).toEqual([before, []]);
    await expect(retireSuperseded(managed, at(5))).rejects.toThrow(StaleObject);
  });

  test('retries resources in use, at intervals that grow with the time since they were due', async () => {
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
    const pauses = [0, 60, 7 * 1440].map((minutes) => retryAfter(at(-minutes), NOW));
    expect(pauses).toEqual([at(1), at(30), at(60)]);
  });

  test('fails if the API fails', async () => {
    const things = all();
    things.isReadOnly = true;
    await expect(retire(replacing([A]), things)).rejects.toThrow(apiError('UNAVAILABLE'));
  });

  /** An object that refers to this one still uses thg_a. */
  const using = () => referrers(object({ name: 'b', status: { references: [{ field: 'spec.thing', id: 'thg_a' }] } }));

  test.each<[string, string[], KubeObject, Setting]>([
    ['its successor is not recorded', ['thg_a'], creating(A), {}],
    ['another object still uses it', ['thg_a'], replacing([A]), { inputs: using() }],
    ['that object need not follow', [], replacing([A]), { inputs: using(), kind: { deletableWhileReferenced: true } }],
    ['its token is in use', ['thg_a'], replacing([A]), { kind: tokens(['thg_a']) }],
    ['another token is in use', [], replacing([A]), { kind: tokens(['thg_c']) }],
    ['its successor does not serve yet', ['thg_a'], replacing([A], { spec: { open: true } }), { kind: SERVING }],
    ['any of several may be serving', ['thg_a', 'thg_b'], creating(A, B), {}],
    ['the last of several may have the token', ['thg_b'], creating(A, B), { kind: tokens([]) }],
  ])('waits or not while %s', async (_, listed, of, setting) => {
    const outcome = await retire(of, all(), setting);
    expect(outcome.listed).toEqual(listed);
    expect(outcome.next).toEqual(listed.length > 0 ? at(1) : undefined);
    expect(outcome.ids).toEqual(expect.arrayContaining(listed));
  });

  test.each([
    ['as was observed', false, true],
    ['as the API says', true, undefined],
  ])('goes on once the successor serves, %s', async (_, serves, seen) => {
    const things = all();
    const successor = seen === undefined ? undefined : things.make('thg_c', { open: seen });
    things.make('thg_c', { open: serves });
    const { managed, identity } = await manage(replacing([A], { spec: { open: true } }), { things, kind: SERVING });
    await retireSuperseded(managed, NOW, successor);
    expect((await identity()).retiring).toEqual([]);
  });

  test.each([
    ['OldCredentialRevoked', tokens([])],
    ['OldResourceDeleted', tokens([], { isOneTime: false })],
  ])('is reported as %s', async (reason, kind) => {
    expect((await retire(replacing([A]), all(), { kind })).said).toEqual([`${reason}: Deleted thg_a`]);
  });

  const adopted = [entry('thg_x', 0)];
  const others = [
    object({ name: 'old', created: '2020-11-20T10:00:00Z', status: { id: 'thg_x', createGeneration: 1 } }),
  ];
  const shown = { status: { id: 'thg_c', createGeneration: 3, retiring: adopted } };
  test.each<[string, boolean, KubeObject, Setting, string?]>([
    ['that another object claims', true, replacing(adopted), { others }],
    ['that this object had as well', true, replacing(adopted, shown), { others }],
    ['that this object created', false, replacing([entry('thg_x', 1)]), { others }, 'thg_x'],
    ['that nobody claims', false, replacing(adopted), {}],
    ['where nothing may be adopted', true, replacing(adopted), { mayAdopt: false }],
    ['that this object had, where nothing may be adopted', false, replacing(adopted, shown), { mayAdopt: false }],
  ])('leaves a resource %s: %s', async (_, leaves, of, setting, created) => {
    const things = created ? new Things().makeFor(created, 'thg_c') : new Things('thg_x').makeFor('thg_c');
    expect(await retire(of, things, setting)).toEqual({
      ids: leaves ? ['thg_x', 'thg_c'] : ['thg_c'],
      listed: [],
      said: leaves ? [] : ['OldResourceDeleted: Deleted thg_x'],
      next: undefined,
    });
  });

  const owner = object({ name: 'owner', metadata: { deletionTimestamp: NOW.toISOString() }, status: { id: 'thg_a' } });
  const waiting = object({ name: 'waiting', spec: { of: 'thg_b' } }, { externalId: 'thg_b' });
  test.each<[string, string[], Setting]>([
    ['even if another object waits for them', ['thg_a', 'thg_b'], { others: [waiting] }],
    ['unless their owner is being deleted', ['thg_b'], { inputs: owners(owner) }],
  ])('deletes modules, %s', async (_, deleted, setting) => {
    const before = [entry('thg_a', 0), entry('thg_b', 0)];
    const of = object(
      { spec: { of: 'thg_c' }, status: { id: 'thg_c', createGeneration: 0, retiring: before } },
      { externalId: 'thg_c', retiring: JSON.stringify(before) },
    );
    const { ids, said, listed } = await retire(of, all(), { ...setting, kind: SETTINGS });
    expect(ids).toEqual(['thg_a', 'thg_b', 'thg_c'].filter((id) => !deleted.includes(id)));
    expect(said).toEqual([`OldResourceDeleted: Deleted ${deleted.map((id) => `the modules of ${id}`).join(', ')}`]);
    expect(listed).toEqual([]);
  });
});

describe('when an object lets go of its resource', () => {
  const created: Identity = { ...nothing, externalId: 'a', generation: 1 };
  const replaced: Identity = { ...nothing, externalId: 'c', generation: 3, retiring: [entry('a', 0), entry('b', 2)] };
  const replacement: Identity = { ...nothing, generation: 2, retiring: [entry('a', 1)] };
  const begun: Identity = { ...nothing, generation: 3, retiring: [entry('a', 0), entry('b', 2)] };
  const earlier: Identity = { ...replaced, externalId: 'b', retiring: [entry('a', 0)] };
  const first: Identity = { ...nothing, generation: 1 };
  test.each<[string, Identity, Identity, Identity | undefined, string[], string | undefined, string[]]>([
    ['there is none', nothing, nothing, undefined, [], undefined, []],
    ['it was never replaced', created, created, created, ['a'], 'a', []],
    ['it has replaced others', replaced, replaced, replaced, ['a'], 'c', ['a', 'b']],
    ['its successor was begun and does not exist', replacement, replacement, created, ['a'], 'a', []],
    ['its successor exists, and the Secret has the old token', replaced, begun, undefined, ['b'], 'b', ['a', 'c']],
    ['its successor exists and is in the Secret', replaced, begun, undefined, ['c'], 'c', ['a', 'b']],
    ['its successor exists, and there is no Secret', replaced, begun, undefined, [], 'b', ['a', 'c']],
    ['only the API knows it', created, first, undefined, [], undefined, ['a']],
    ['only the Secret knows it', created, first, undefined, ['a'], 'a', []],
    ['an edit names a former one, whose token is stored', replaced, earlier, undefined, ['b'], 'b', ['a', 'c']],
    ['the object has lost all but its status', replaced, nothing, replaced, [], 'c', ['a', 'b']],
    ['the object has lost everything', created, nothing, undefined, [], 'a', []],
  ])('and %s, the right resource stays', (_, identity, recorded, shown, held, stays, others) => {
    const result = whatStays(identity, { recorded, shown }, held);
    expect({ stays: result.stays?.id, others: result.others.map(({ id }) => id) }).toEqual({ stays, others });
  });
});

const of = replacing([A, B], { spec: { open: true } });
/** No reconcile of it has succeeded. */
const unfinished = object({ status: { conditions: [condition('Ready', 'False')] } }, { createGeneration: '1' });
const found: Identity = { ...nothing, externalId: 'thg_a', generation: 1 };

const [REST, ALL] = [
  ['thg_b', 'thg_c'],
  ['thg_a', 'thg_b', 'thg_c'],
] as [string[], string[]];
test.each<[string, typeof deleteRemote, KubeObject, string[], string[], string[]]>([
  ['all, to delete them', deleteRemote, of, [], [], ['Deleted: Deleted thg_a, thg_b, thg_c']],
  ['the superseded ones, to retain one', retainRemote, of, [], ['thg_c'], ['Retained: Retained thg_c']],
  ['an unfinished one, not retained', retainRemote, unfinished, [], REST, ['Deleted: Deleted thg_a']],
  ['none with a stored token', retainRemote, unfinished, ['thg_a'], ALL, ['Retained: Retained thg_a']],
  ['an unfinished one, not left', leaveRemote, unfinished, [], REST, ['Deleted: Deleted thg_a']],
  ['the superseded ones, to leave one', leaveRemote, of, [], ['thg_c'], []],
])('an object deletes %s', async (_, act, from, held, stays, said) => {
  const { managed, things, events } = await manage(from, { things: all(), kind: tokens(held) });
  await act(managed, from === of ? readIdentity(of) : found);
  expect(things.ids).toEqual(stays);
  expect(await events()).toEqual(said);
});

test('modules are deleted together with their owner', async () => {
  const owner = object({ name: 'owner', metadata: { deletionTimestamp: NOW.toISOString() }, status: { id: 'thg_a' } });
  const { managed, things, events } = await manage(object(), { things: all(), inputs: owners(owner), kind: SETTINGS });
  await deleteRemote(managed, { ...nothing, externalId: 'thg_b', retiring: [entry('thg_a', 0)] });
  expect(things.ids).toEqual(['thg_a', 'thg_c']);
  expect(await events()).toEqual(['Deleted: Deleted the modules of thg_b']);
  await deleteRemote(managed, nothing);
  expect(await events()).toHaveLength(1);
});

test('a DNSEndpoint outlives an object whose resource stays', async () => {
  const conditions = [{ ...condition('Ready', 'True'), type: 'DNSPublished' }];
  const owner = { apiVersion: of.apiVersion ?? '', kind: 'Any', name: 'a', uid: of.metadata.uid };
  const { managed, cluster } = await manage(object({ status: { conditions } }, { externalId: 'thg_c' }), {
    things: all(),
    kind: { dnsRecords: () => [] },
    beside: { dnsendpoints: [object({ name: 'a', uid: 'endpoint', metadata: { ownerReferences: [owner] } })] },
  });
  await retainRemote(managed, { ...nothing, externalId: 'thg_c' });
  expect((await cluster.get('dnsendpoints', 'a')).metadata.ownerReferences ?? []).toEqual([]);
});

test.each<[string, Partial<ThingKind>, Things, string[], string]>([
  ['the current one', {}, all(), [], 'thg_c'],
  ['the last that serves', SERVING, all(), ['thg_a', 'thg_b'], 'thg_b'],
  ['the current one, if none serves', SERVING, all(), [], 'thg_c'],
  ['an earlier one that serves, if the current one is gone', SERVING, new Things(), ['thg_b'], 'thg_b'],
])('of several resources, the one that stays is %s', async (_, kind, things, serving, expected) => {
  for (const id of serving) things.make(id, { open: true });
  const { managed } = await manage(of, { things, kind });
  const { stays, others } = await remainsOf(managed, readIdentity(of), []);
  expect(stays?.id).toBe(expected);
  expect(others.map(({ id }) => id)).toEqual(['thg_a', 'thg_b', 'thg_c'].filter((id) => id !== expected));
});
