import { describe, expect, test } from 'vitest';
import { everythingOf, retryAfter, whatStays } from '../../../src/operator/managed/disposal.ts';
import type { Identity } from '../../../src/operator/managed/identity.ts';

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
