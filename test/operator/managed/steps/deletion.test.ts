import { describe, expect, test } from 'vitest';
import { ObjectStore } from '../../../../src/operator/kube/object-store.ts';
import { everythingOf, type Identity, readIdentity } from '../../../../src/operator/managed/identity/identity.ts';
import { objectKey } from '../../../../src/operator/managed/knowledge/reference-index.ts';
import {
  deleteRemote,
  leaveRemote,
  remainsOf,
  retainRemote,
  retryAfter,
  whatStays,
} from '../../../../src/operator/managed/steps/deletion.ts';
import { noInputs } from '../../inputs.ts';
import { condition, object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';
import { NAMESPACE } from '../placing.ts';
import { SERVING, SETTINGS, type ThingKind, Things, tokens } from '../things.ts';

const entry = (id: string, generation: number) => ({ id, generation, after: '2026-11-21T10:00:00.000Z' });
const nothing: Identity = { externalId: undefined, generation: 0, createKey: undefined, retiring: [] };
const created: Identity = { ...nothing, externalId: 'a', generation: 1 };
const replaced: Identity = { ...nothing, externalId: 'c', generation: 3, retiring: [entry('a', 0), entry('b', 2)] };
const replacing: Identity = { ...nothing, generation: 2, retiring: [entry('a', 1)] };

test.each<[string, Identity, string[]]>([
  ['nothing, where nothing was made', nothing, []],
  ['what there is', created, ['a']],
  ['what was replaced first, the present last', replaced, ['a', 'b', 'c']],
  ['each once', { ...replaced, retiring: [entry('a', 2), entry('c', 3)] }, ['a', 'c']],
  ['what is being replaced', replacing, ['a']],
])('when an object is deleted, these are deleted, in this order: %s', (_, identity, expected) => {
  expect(everythingOf(identity).map(({ id }) => id)).toEqual(expected);
});

describe('when an object lets go of its resource', () => {
  const wiped = nothing;
  const creating: Identity = { ...nothing, generation: 3, retiring: [entry('a', 0), entry('b', 2)] };
  const earlier: Identity = { ...replaced, externalId: 'b', retiring: [entry('a', 0)] };
  const first: Identity = { ...nothing, generation: 1 };
  test.each<[string, Identity, Identity, Identity | undefined, string[], string | undefined, string[]]>([
    ['there is none', nothing, wiped, undefined, [], undefined, []],
    ['it was never replaced', created, created, created, ['a'], 'a', []],
    ['it has replaced others', replaced, replaced, replaced, ['c'], 'c', ['a', 'b']],
    ['its Secret was edited', replaced, replaced, replaced, ['a'], 'c', ['a', 'b']],
    ['its successor was begun and does not exist', replacing, replacing, created, ['a'], 'a', []],
    ['its successor exists, and the Secret has the old token', replaced, creating, undefined, ['b'], 'b', ['a', 'c']],
    ['its successor exists and is in the Secret', replaced, creating, undefined, ['c'], 'c', ['a', 'b']],
    ['its successor exists, and there is no Secret', replaced, creating, undefined, [], 'b', ['a', 'c']],
    ['nobody was told of it', created, first, undefined, [], undefined, ['a']],
    ['nobody was told of it but the Secret', created, first, undefined, ['a'], 'a', []],
    ['an edit has it name the one before, whose token is stored', replaced, earlier, undefined, ['b'], 'b', ['a', 'c']],
    ['the object has lost all but its status', replaced, wiped, replaced, [], 'c', ['a', 'b']],
    ['the object has lost everything', created, wiped, undefined, [], 'a', []],
  ])('and %s, the right one stays', (_, identity, recorded, shown, held, stays, others) => {
    const result = whatStays(identity, { recorded, shown }, held);
    expect({ stays: result.stays?.id, others: result.others.map(({ id }) => id) }).toEqual({ stays, others });
  });
});

test.each([
  ['a moment', 0, 60_000],
  ['an hour', 3_600_000, 1_800_000],
  ['a week', 7 * 86_400_000, 3_600_000],
])('what has been held for %s is tried again after a pause that grows', (_, heldMs, expected) => {
  const now = new Date('2026-11-21T10:00:00Z');
  expect(retryAfter(new Date(now.getTime() - heldMs), now).getTime() - now.getTime()).toBe(expected);
});

const listed = [entry('thg_a', 1), entry('thg_b', 2)];
const of = object(
  { spec: { open: true } },
  { externalId: 'thg_c', createGeneration: '3', retiring: JSON.stringify(listed) },
);
const all = () => new Things().makeFor('thg_a', 'thg_b', 'thg_c');
/** No reconcile of it has succeeded: nobody was told of what was created. */
const unfinished = object({ status: { conditions: [condition('Ready', 'False')] } }, { createGeneration: '1' });
const found: Identity = { ...nothing, externalId: 'thg_a', generation: 1 };

test.each<[string, Identity, string[]]>([
  ['all that there is', readIdentity(of), ['Deleted: Deleted thg_a, thg_b, thg_c']],
  ['one', { ...nothing, externalId: 'thg_a', generation: 1 }, ['Deleted: Deleted thg_a']],
  ['nothing', nothing, []],
])('it is told when %s is deleted', async (_, identity, expected) => {
  const { managed, things, events } = await manage(of, { things: all() });
  await deleteRemote(managed, identity);
  expect(things.ids).toHaveLength(3 - everythingOf(identity).length);
  expect(await events()).toEqual(expected);
});

test('settings of what is about to be deleted go along with it', async () => {
  const inputs = noInputs();
  const store = new ObjectStore();
  store.put(
    object({
      name: 'owner',
      metadata: { namespace: NAMESPACE, deletionTimestamp: '2026-11-21T10:00:00Z' },
      status: { id: 'thg_a' },
    }),
  );
  inputs.index.set(objectKey('Thing', NAMESPACE, 'a'), new Set([objectKey('Owner', NAMESPACE, 'owner')]));
  inputs.addPeer('Owner', { store, enqueue: () => {} });
  const { managed, things, events } = await manage(object(), { things: all(), inputs, kind: SETTINGS });
  await deleteRemote(managed, { ...nothing, externalId: 'thg_b', retiring: [entry('thg_a', 0)] });
  expect(things.ids).toEqual(['thg_a', 'thg_c']);
  expect(await events()).toEqual(['Deleted: Deleted the modules of thg_b']);
});

test.each<[string, typeof of, Identity, string[], string[], string[]]>([
  ['the present one', of, readIdentity(of), [], ['thg_c'], ['Retained: Retained thg_c']],
  ['nothing that was never finished', unfinished, found, [], ['thg_b', 'thg_c'], ['Deleted: Deleted thg_a']],
  [
    'what was never finished, if its token is stored',
    unfinished,
    found,
    ['thg_a'],
    ['thg_a', 'thg_b', 'thg_c'],
    ['Retained: Retained thg_a'],
  ],
])('of an object whose resource is to stay, there stays %s', async (_, from, identity, held, stays, said) => {
  const { managed, things, events } = await manage(from, { things: all(), kind: tokens(held) });
  await retainRemote(managed, identity);
  expect(things.ids).toEqual(stays);
  expect(await events()).toEqual(said);
});

test('a DNSEndpoint outlives an object whose resource is to stay', async () => {
  const conditions = [{ ...condition('Ready', 'True'), type: 'DNSPublished' }];
  const owner = { apiVersion: of.apiVersion ?? '', kind: 'Any', name: 'a', uid: of.metadata.uid };
  const { managed, cluster } = await manage(
    { ...of, status: { ...Object(of.status), conditions } },
    {
      things: all(),
      kind: { dnsRecords: () => [] },
      beside: { dnsendpoints: [object({ name: 'a', uid: 'endpoint', metadata: { ownerReferences: [owner] } })] },
    },
  );
  await retainRemote(managed, { ...nothing, externalId: 'thg_c' });
  expect((await cluster.get('dnsendpoints', 'a')).metadata.ownerReferences ?? []).toEqual([]);
});

test.each<[string, typeof of, Identity, string[], string[]]>([
  ['what was never finished', unfinished, found, ['thg_b', 'thg_c'], ['Deleted: Deleted thg_a']],
  ['what was superseded', of, readIdentity(of), ['thg_c'], []],
])('of an object whose resource is another one, there goes %s', async (_, from, identity, stays, said) => {
  const { managed, things, events } = await manage(from, { things: all() });
  await leaveRemote(managed, identity);
  expect(things.ids).toEqual(stays);
  expect(await events()).toEqual(said);
});

test.each<[string, Partial<ThingKind>, string[], string]>([
  ['the present one', {}, [], 'thg_c'],
  ['the last that serves, if one does', SERVING, ['thg_a', 'thg_b'], 'thg_b'],
  ['the present one, if none serves', SERVING, [], 'thg_c'],
])('of several resources there stays %s', async (_, kind, serving, expected) => {
  const things = all();
  for (const id of serving) things.make(id, { open: true });
  const { managed } = await manage(of, { things, kind });
  const { stays, others } = await remainsOf(managed, readIdentity(of), []);
  expect(stays?.id).toBe(expected);
  expect(others.map(({ id }) => id)).toEqual(['thg_a', 'thg_b', 'thg_c'].filter((id) => id !== expected));
});

test.each<[string, Partial<ThingKind>, string]>([
  ['where that serves', SERVING, 'thg_b'],
  ['but not where nothing serves', {}, 'thg_c'],
])('an earlier resource stays in the place of one that is gone, %s', async (_, kind, expected) => {
  const things = new Things();
  things.make('thg_b', { open: true });
  const { managed } = await manage(of, { things, kind });
  const identity = { ...readIdentity(of), retiring: [entry('thg_b', 2)] };
  expect((await remainsOf(managed, identity, [])).stays?.id).toBe(expected);
});
