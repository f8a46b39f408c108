import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../../src/operator/contract/names.ts';
import {
  claimOf,
  dueForRetirement,
  idempotencyKeyOf,
  identityAnnotations,
  nextGeneration,
  readIdentity,
} from '../../../src/operator/managed/identity.ts';
import { object } from '../objects.ts';

const entry = (id: string, generation: number, after = '2026-11-21T10:00:00.000Z') => ({ id, generation, after });
const AFTER = new Date('2026-11-21T12:00:00Z');

describe('the identity of an object', () => {
  test.each([
    ['without annotations is that of nothing', {}, { externalId: undefined, generation: 0, retiring: [] }],
    [
      'is read from its annotations',
      { externalId: 'ipp_1', createGeneration: '3', retiring: JSON.stringify([entry('ipp_0', 2)]) },
      { externalId: 'ipp_1', generation: 3, retiring: [entry('ipp_0', 2)] },
    ],
    ['takes an empty id for none', { externalId: '' }, { externalId: undefined, generation: 0, retiring: [] }],
    [
      'takes a generation that is none for 0',
      { createGeneration: 'x' },
      { externalId: undefined, generation: 0, retiring: [] },
    ],
    [
      'takes a negative generation for 0',
      { createGeneration: '-1' },
      { externalId: undefined, generation: 0, retiring: [] },
    ],
    ['survives a list that does not parse', { retiring: '[{' }, { externalId: undefined, generation: 0, retiring: [] }],
  ])('%s', (_, annotations, expected) => {
    expect(readIdentity(object({}, annotations))).toEqual(expected);
  });

  test('comes back from the annotations that it was written to', () => {
    const identity = { externalId: 'ipp_1', generation: 2, retiring: [entry('ipp_0', 1)] };
    const annotations = identityAnnotations(identity) as Record<string, string>;
    expect(readIdentity(object({ metadata: { annotations } }))).toEqual(identity);
  });

  test('removes the annotations of missing parts', () => {
    expect(identityAnnotations({ externalId: undefined, generation: 0, retiring: [] })).toEqual({
      [ANNOTATION.externalId]: null,
      [ANNOTATION.createGeneration]: null,
      [ANNOTATION.retiring]: null,
    });
  });
});

describe('the next generation', () => {
  test.each([
    [
      'of nothing is the first',
      { externalId: undefined, generation: 0, retiring: [] },
      undefined,
      { generation: 1, retiring: [] },
    ],
    [
      'of what is gone retires nothing',
      { externalId: 'a', generation: 1, retiring: [] },
      undefined,
      { generation: 2, retiring: [] },
    ],
    [
      'of what is replaced retires it, with the generation it was made in',
      { externalId: 'a', generation: 1, retiring: [] },
      { id: 'a', after: AFTER },
      { generation: 2, retiring: [entry('a', 1, AFTER.toISOString())] },
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
    expect(nextGeneration(identity, retire)).toEqual({ externalId: undefined, ...expected });
  });

  test('has its own idempotency key, as does every object', () => {
    const [a, b] = [object({ uid: 'u1' }), object({ uid: 'u2' })];
    expect(new Set([idempotencyKeyOf(a, 1), idempotencyKeyOf(a, 2), idempotencyKeyOf(b, 1)]).size).toBe(3);
    expect(idempotencyKeyOf(a, 1)).toBe(idempotencyKeyOf(object({ uid: 'u1', version: 9 }), 1));
  });
});

test('a retired resource is due from its time on', () => {
  const retiring = [entry('a', 1, '2026-11-21T10:00:00Z'), entry('b', 2, '2026-11-21T10:00:01Z')];
  const split = dueForRetirement({ externalId: 'c', generation: 3, retiring }, new Date('2026-11-21T10:00:00Z'));
  expect(split).toEqual({ due: [retiring[0]], later: [retiring[1]] });
});

test.each([
  ['the id that it manages', { externalId: 'a', adopt: 'b' }, 'a'],
  ['else the one that it wants to adopt', { adopt: 'b' }, 'b'],
  ['else nothing', {}, undefined],
])('an object claims %s', (_, annotations, expected) => {
  expect(claimOf(object({}, annotations))).toBe(expected);
});
