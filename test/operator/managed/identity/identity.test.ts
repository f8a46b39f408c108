import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import {
  claimedId,
  dueForRetirement,
  idempotencyOf,
  identityAnnotations,
  identityInStatus,
  isBegun,
  knows,
  nextGeneration,
  readIdentity,
  retiringEntry,
} from '../../../../src/operator/managed/identity/identity.ts';
import { object } from '../../objects.ts';

const entry = (id: string, generation: number, after = '2026-11-21T10:00:00.000Z') => ({ id, generation, after });
const KEY = expect.stringMatching(/^[0-9a-f-]{36}$/);
const NOTHING = { externalId: undefined, generation: 0, createKey: undefined, retiring: [] };
const AFTER = new Date('2026-11-21T12:00:00Z');

describe('the identity of an object', () => {
  test.each([
    ['without annotations is that of nothing', {}, NOTHING],
    [
      'is read from its annotations',
      { externalId: 'ipp_1', createGeneration: '3', createKey: 'k', retiring: JSON.stringify([entry('ipp_0', 2)]) },
      { externalId: 'ipp_1', generation: 3, createKey: 'k', retiring: [entry('ipp_0', 2)] },
    ],
    ['takes an empty id for none', { externalId: '' }, NOTHING],
    ['takes a generation that is none for 0', { createGeneration: 'x' }, NOTHING],
    ['takes a negative generation for 0', { createGeneration: '-1' }, NOTHING],
    ['takes a generation that nothing gets to for 0', { createGeneration: '999999999' }, NOTHING],
    ['takes the last that is plausible', { createGeneration: '499999999' }, { ...NOTHING, generation: 499999999 }],
    ['takes a key that no header can carry for none', { createKey: 'schlüssel' }, NOTHING],
    ['takes a key that is too long for none', { createKey: 'k'.repeat(201) }, NOTHING],
    ['survives a list that does not parse', { retiring: '[{' }, NOTHING],
    ['survives a list that is none', { retiring: '{}' }, NOTHING],
  ])('%s', (_, annotations, expected) => {
    expect(readIdentity(object({}, annotations))).toEqual(expected);
  });

  test.each(['tomorrow', '+999999-01-01T00:00:00Z', '2026-11-21', ''])(
    'loses only the entry whose time is "%s"',
    (after) => {
      const retiring = JSON.stringify([entry('a', 1, after), entry('b', 2), { id: 'c' }]);
      expect(readIdentity(object({}, { retiring })).retiring).toEqual([entry('b', 2)]);
    },
  );

  test('is copied to the status once it is settled, without what there is none of', () => {
    const settled = { externalId: 'ipp_1', generation: 2, createKey: undefined, retiring: [] };
    const retiring = [entry('ipp_0', 1)];
    expect(identityInStatus(settled)).toEqual({ createGeneration: 2, retiring: undefined });
    expect(identityInStatus({ ...settled, retiring })).toEqual({ createGeneration: 2, retiring });
    expect(identityInStatus({ ...settled, externalId: undefined, retiring })).toEqual({
      createGeneration: undefined,
      retiring: undefined,
    });
  });

  test.each([1, 2])('of generation %i comes back from the annotations that it was written to', (generation) => {
    const identity = { externalId: 'ipp_1', generation, createKey: 'k', retiring: [entry('ipp_0', 1)] };
    const annotations = identityAnnotations(identity) as Record<string, string>;
    expect(readIdentity(object({ metadata: { annotations } }))).toEqual(identity);
  });

  test('keeps an entry whose time is that of another zone', () => {
    const retiring = [entry('ipp_0', 1, '2026-11-21T12:00:00+02:00')];
    expect(readIdentity(object({}, { retiring: JSON.stringify(retiring) })).retiring).toEqual(retiring);
  });

  test('removes the annotations of missing parts', () => {
    expect(identityAnnotations(NOTHING)).toEqual({
      [ANNOTATION.externalId]: null,
      [ANNOTATION.createGeneration]: null,
      [ANNOTATION.createKey]: null,
      [ANNOTATION.retiring]: null,
    });
  });
});

describe('the next generation', () => {
  test.each([
    ['of nothing is the first', NOTHING, undefined, { generation: 1, retiring: [] }],
    [
      'of what is replaced retires it, with the generation it was made in',
      { externalId: 'a', generation: 1, retiring: [] },
      { id: 'a', after: AFTER },
      { generation: 2, retiring: [entry('a', 1, AFTER.toISOString())] },
    ],
    [
      'of one that was edited to the last is the first: the API knows which it should be',
      { externalId: undefined, generation: 499999999, retiring: [] },
      undefined,
      { generation: 1, retiring: [] },
    ],
    [
      'of what was adopted retires it under generation 0',
      { externalId: 'a', generation: 0, retiring: [] },
      { id: 'a', after: AFTER },
      { generation: 1, retiring: [entry('a', 0, AFTER.toISOString())] },
    ],
    [
      'keeps what is retired already, once',
      { externalId: 'b', generation: 2, retiring: [entry('a', 1), entry('b', 2)] },
      { id: 'b', after: AFTER },
      { generation: 3, retiring: [entry('a', 1), entry('b', 2, AFTER.toISOString())] },
    ],
  ])('%s', (_, identity, retire, expected) => {
    const given = { createKey: 'k', ...identity };
    expect(nextGeneration(given, retire)).toEqual({ externalId: undefined, createKey: KEY, ...expected });
  });

  test('has its own idempotency key, as does every object and every beginning', () => {
    const [a, b] = [object({ uid: 'u1' }), object({ uid: 'u2' })];
    const first = nextGeneration(NOTHING);
    const all = [idempotencyOf(a, first), idempotencyOf(b, first), idempotencyOf(a, nextGeneration(NOTHING))];
    const next = idempotencyOf(a, nextGeneration(first));
    expect(new Set([...all, next].map(({ idempotencyKey }) => idempotencyKey)).size).toBe(4);
    expect(idempotencyOf(object({ uid: 'u1', version: 9 }), first)).toEqual(all[0]);
  });

  test('has its place among those of the object', () => {
    const identity = { ...NOTHING, generation: 3 };
    expect(idempotencyOf(object({ uid: 'u1' }), identity).idempotencyPlace).toEqual({ scope: 'u1', sequence: 3 });
  });
});

test('an identity knows what it has and each that it has superseded', () => {
  const identity = { ...NOTHING, externalId: 'c', retiring: [entry('a', 1), entry('b', 2)] };
  expect(['a', 'b', 'c', 'd'].filter((id) => knows(identity, id))).toEqual(['a', 'b', 'c']);
});

test('whoever asks what a status says of a retired resource is told of every member', () => {
  for (const { description } of Object.values(retiringEntry.shape)) expect(description).toMatch(/\w+/);
});

test('a retired resource is due from its time on', () => {
  const retiring = [entry('a', 1, '2026-11-21T10:00:00Z'), entry('b', 2, '2026-11-21T10:00:01Z')];
  const split = dueForRetirement(
    { ...NOTHING, externalId: 'c', generation: 3, retiring },
    new Date('2026-11-21T10:00:00Z'),
  );
  expect(split).toEqual({ due: [retiring[0]], later: [retiring[1]] });
});

test.each([
  ['of nothing is not', NOTHING, false],
  ['with a generation is', { ...NOTHING, generation: 1 }, true],
  ['of an adopted resource is', { ...NOTHING, externalId: 'a' }, true],
])('an identity %s begun', (_, identity, expected) => {
  expect(isBegun(identity)).toBe(expected);
});

test.each([
  ['the id that it manages', { externalId: 'a', adopt: 'b' }, 'a'],
  ['else the one that it wants to adopt', { adopt: 'b' }, 'b'],
  ['else nothing', {}, undefined],
])('an object claims %s', (_, annotations, expected) => {
  expect(claimedId(object({}, annotations))).toBe(expected);
});
