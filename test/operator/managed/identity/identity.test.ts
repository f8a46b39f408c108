import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import {
  claimedId,
  dueForRetirement,
  everythingOf,
  idempotencyOf,
  identityAnnotations,
  identityInStatus,
  isBegun,
  knows,
  nextGeneration,
  readIdentity,
  startOverlaps,
} from '../../../../src/operator/managed/identity/identity.ts';
import { object } from '../../objects.ts';

const entry = (id: string, generation: number, after = '2026-11-21T10:00:00.000Z') => ({ id, generation, after });
const KEY = expect.stringMatching(/^[0-9a-f-]{36}$/);
const NOTHING = { externalId: undefined, generation: 0, createKey: undefined, retiring: [] };
const NOW = new Date('2026-11-21T12:00:00Z');

test.each([
  ['none', {}, {}],
  ['an empty id', { externalId: '' }, {}],
  ['a generation that is not a number', { createGeneration: 'x' }, {}],
  ['a negative generation', { createGeneration: '-1' }, {}],
  ['an implausible generation', { createGeneration: '999999999' }, {}],
  ['the last plausible generation', { createGeneration: '499999999' }, { generation: 499999999 }],
  ['a key that no header can carry', { createKey: 'schlüssel' }, {}],
  ['a key that is too long', { createKey: 'k'.repeat(201) }, {}],
  ['malformed JSON', { retiring: '[{' }, {}],
  ['JSON that is not a list', { retiring: '{}' }, {}],
])('annotations are read: %s', (_, annotations, expected) => {
  expect(readIdentity(object({}, annotations))).toEqual({ ...NOTHING, ...expected });
});

test('only invalid entries of superseded resources are dropped', () => {
  const zoned = entry('b', 2, '2026-11-21T12:00:00+02:00');
  const invalid = ['tomorrow', '+999999-01-01T00:00:00Z', '2026-11-21', ''].map((after) => entry('a', 1, after));
  const retiring = JSON.stringify([...invalid, zoned, { id: 'c' }]);
  expect(readIdentity(object({}, { retiring })).retiring).toEqual([zoned]);
});

test('the status shows the identity once it is settled', () => {
  const settled = { externalId: 'ipp_1', generation: 2, createKey: undefined, retiring: [] };
  const retiring = [entry('ipp_0', 1)];
  expect(identityInStatus(settled)).toEqual({ createGeneration: 2, retiring: undefined });
  expect(identityInStatus({ ...settled, retiring })).toEqual({ createGeneration: 2, retiring });
  const replacing = identityInStatus({ ...settled, externalId: undefined, retiring });
  expect(replacing).toEqual({ createGeneration: undefined, retiring: undefined });
});

test.each([1, 2])('an identity of generation %i is read as it was written', (generation) => {
  const identity = { externalId: 'ipp_1', generation, createKey: 'k', retiring: [entry('ipp_0', 1)] };
  const annotations = identityAnnotations(identity) as Record<string, string>;
  expect(readIdentity(object({ metadata: { annotations } }))).toEqual(identity);
});

test('the annotations of missing parts are removed', () => {
  const { externalId, createGeneration, createKey, retiring } = ANNOTATION;
  const expected = { [externalId]: null, [createGeneration]: null, [createKey]: null, [retiring]: null };
  expect(identityAnnotations(NOTHING)).toEqual(expected);
});

describe('the next generation', () => {
  const retire = (id: string, generation: number) => entry(id, generation, NOW.toISOString());
  const [a1, b2] = [entry('a', 1), entry('b', 2)];
  test.each([
    ['is 1 for a new object', {}, undefined, 1, []],
    ['is 1 if its number would be implausible', { generation: 499999999 }, undefined, 1, []],
    ['retires the resource that it replaces', { externalId: 'a', generation: 1 }, 'a', 2, [retire('a', 1)]],
    ['retires an adopted resource', { externalId: 'a' }, 'a', 1, [retire('a', 0)]],
    ['lists each resource once', { externalId: 'b', generation: 2, retiring: [a1, b2] }, 'b', 3, [a1, retire('b', 2)]],
  ])('%s', (_, identity, id, generation, retiring) => {
    const next = nextGeneration(
      { ...NOTHING, createKey: 'k', ...identity },
      id ? { id, now: NOW, overlapMs: 0 } : undefined,
    );
    expect(next).toEqual({ externalId: undefined, createKey: KEY, generation, retiring });
  });

  test('has its own idempotency key for every object and every attempt', () => {
    const [a, b] = [object({ uid: 'u1' }), object({ uid: 'u2' })];
    const first = nextGeneration(NOTHING);
    const all = [idempotencyOf(a, first), idempotencyOf(b, first), idempotencyOf(a, nextGeneration(NOTHING))];
    const next = idempotencyOf(a, nextGeneration(first));
    expect(new Set([...all, next].map(({ idempotencyKey }) => idempotencyKey)).size).toBe(4);
    expect(idempotencyOf(object({ uid: 'u1', version: 9 }), first)).toEqual(all[0]);
    expect(next.idempotencyPlace).toEqual({ scope: 'u1', sequence: 2 });
  });
});

test('an identity knows its current and its superseded resources', () => {
  const identity = { ...NOTHING, externalId: 'c', retiring: [entry('a', 1), entry('b', 2)] };
  expect(['a', 'b', 'c', 'd'].filter((id) => knows(identity, id))).toEqual(['a', 'b', 'c']);
  expect(everythingOf(identity).map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  const repeated = { ...identity, retiring: [entry('a', 2), entry('c', 3)] };
  expect(everythingOf(repeated).map(({ id }) => id)).toEqual(['a', 'c']);
  expect(everythingOf({ ...NOTHING, generation: 2, retiring: [entry('a', 1)] })).toHaveLength(1);
});

test('a retired resource is due from its time onwards', () => {
  const retiring = [entry('a', 1, '2026-11-21T10:00:00Z'), entry('b', 2, '2026-11-21T10:00:01Z')];
  const split = dueForRetirement({ ...NOTHING, retiring }, new Date('2026-11-21T10:00:00Z'));
  expect(split).toEqual({ due: [retiring[0]], later: [retiring[1]] });
});

test('the overlap of a replaced resource begins when its successor is recorded', () => {
  const [minute, hour] = [60_000, 3_600_000];
  const replacing = nextGeneration({ ...NOTHING, externalId: 'a' }, { id: 'a', now: NOW, overlapMs: minute });
  const later = new Date(NOW.getTime() + hour);
  expect(startOverlaps(replacing, later)).toEqual(replacing);
  expect(dueForRetirement(replacing, later)).toEqual({ due: [], later: replacing.retiring });
  const written = object({ metadata: { annotations: identityAnnotations(replacing) as Record<string, string> } });
  expect(readIdentity(written)).toEqual(replacing);
  const { retiring } = startOverlaps(
    { ...replacing, externalId: 'b', retiring: [...replacing.retiring, entry('x', 0)] },
    later,
  );
  expect(retiring).toEqual([entry('a', 0, new Date(later.getTime() + minute).toISOString()), entry('x', 0)]);
});

test('an identity is begun with a generation or a resource', () => {
  expect([{}, { generation: 1 }, { externalId: 'a' }].map((part) => isBegun({ ...NOTHING, ...part }))).toEqual([
    false,
    true,
    true,
  ]);
});

test('an object claims its own resource, or else the one to adopt', () => {
  const given = [{ externalId: 'a', adopt: 'b' }, { adopt: 'b' }, {}];
  expect(given.map((annotations) => claimedId(object({}, annotations)))).toEqual(['a', 'b', undefined]);
});
