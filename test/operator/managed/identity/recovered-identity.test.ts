import { describe, expect, test } from 'vitest';
import type { CreateScope } from '../../../../src/operator/managed/declaration/external.ts';
import type { Identity } from '../../../../src/operator/managed/identity/identity.ts';
import {
  adoptedIdentity,
  isSound,
  namesOnlyOwn,
  onlyOwn,
  recoveredIdentity,
} from '../../../../src/operator/managed/identity/recovered-identity.ts';

const NOW = new Date('2026-11-21T12:00:00.000Z');

const entry = (id: string, generation: number, after = NOW.toISOString()) => ({ id, generation, after });
const identity = (externalId: string | undefined, generation: number, ...retiring: Identity['retiring']): Identity => ({
  externalId,
  generation,
  createKey: undefined,
  retiring,
});
/** The resources that still exist, with their sequence numbers. */
const scope = (resources: Record<string, number>): CreateScope => ({
  resources: Object.entries(resources)
    .map(([id, sequence]) => ({ id, sequence }))
    .reverse(),
  nextSequence: 9,
});
const none = identity(undefined, 0);
const [a1, b2, adopted] = [entry('a', 1), entry('b', 2), entry('x', 0)];
const later = entry('a', 1, '2026-11-21T13:00:00.000Z');
const adoptedLater = { ...later, id: 'x', generation: 0 };
const [empty, onlyA, onlyB, both] = [scope({}), scope({ a: 1 }), scope({ b: 2 }), scope({ a: 1, b: 2 })];

test.each<[string, boolean, Identity, Identity | undefined, CreateScope]>([
  ['it names all resources', true, identity('b', 2, a1), undefined, both],
  ['it names the first resource', true, identity('a', 1), undefined, onlyA],
  ['the status was not written before a crash', true, identity('b', 2), identity('a', 1), onlyB],
  ['the status shows another resource', false, identity('x', 1), identity('a', 1), empty],
  ['the status shows the resource that it replaces', true, identity('b', 1, adopted), identity('x', 0), empty],
  ['a create is under way', true, identity(undefined, 2, a1), identity('a', 1), onlyA],
  ['a create is under way, and its predecessor is gone', true, identity(undefined, 2), identity('a', 1), empty],
  ['the create under way took effect', true, identity(undefined, 2, a1), undefined, both],
  ['an unexpected create took effect', false, identity(undefined, 3), undefined, onlyB],
  ['it names a foreign resource', false, identity('x', 1), undefined, onlyA],
  ['it lacks a resource to retire', false, identity('b', 2), undefined, both],
  ['it treats its own resource as adopted', false, identity('a', 0), undefined, onlyA],
  ['it names the adopted resource', true, identity('x', 0), identity('x', 0), empty],
  ['it treats an adopted resource as its own', false, identity('x', 3), identity('x', 0), empty],
  ['it lacks an adopted resource to retire', false, identity('b', 2), identity('b', 2, adopted), onlyB],
  ['it lacks one while a create is under way', false, identity(undefined, 2), identity('b', 1, adopted), empty],
  ['it was restored from a backup', true, identity('a', 3, b2), undefined, empty],
])('a recorded identity is sound when %s: %s', (_, expected, recorded, shown, known) => {
  expect(isSound(recorded, shown, known)).toBe(expected);
});

describe('the recovered identity', () => {
  test.each<[string, Identity, Identity | undefined, CreateScope, Identity, stored?: string[]]>([
    ['is none without any resource', none, undefined, empty, identity(undefined, 8)],
    ['is the one in the status', none, identity('a', 1), onlyA, identity('a', 8)],
    ['retires a later resource than the status shows', none, identity('a', 1), both, identity('a', 8, b2)],
    ['keeps the planned time of retirement', none, identity('b', 2, later), both, identity('b', 8, later)],
    ['drops deleted ones, except adopted ones', none, identity('b', 2, a1, adopted), onlyB, identity('b', 8, adopted)],
    ['is the newest without a status', none, undefined, both, identity('b', 8, a1)],
    ['is the adopted one in the status', none, identity('x', 0), empty, identity('x', 0)],
    ['is adopted despite an unknown create', none, identity('x', 0), onlyB, identity('x', 0, b2)],
    ['is its own instead of an edited id', identity('x', 1), identity('a', 1), onlyA, identity('a', 8)],
    ['is its own without a status', identity('x', 1), undefined, onlyA, identity('a', 8)],
    ['is adopted despite an edited generation', identity('x', 3), identity('x', 0), empty, identity('x', 0)],
    ['retires an adopted resource', none, identity('b', 1, adoptedLater), onlyB, identity('b', 8, adoptedLater)],
    ['is adopted instead of an edited id', identity('y', 0), identity('x', 0), empty, identity('x', 0)],
    ['is the one in the status even if gone', identity('x', 1), identity('a', 1), empty, identity('a', 8)],
    ['is newer than the status', identity('b', 2, later), identity('a', 1), both, identity('b', 8, later)],
    ['is not a superseded one', identity(undefined, 3, a1), identity('a', 1), onlyA, identity(undefined, 8, a1)],
    ['is the create under way', identity(undefined, 2, a1), identity('a', 1), both, identity('b', 8, a1)],
    ['is the one from a backup', identity('a', 3), undefined, empty, identity('a', 8)],
    ['is newer than an old manifest', identity('a', 1), identity('b', 2, later), both, identity('b', 8, later)],
    ['has the stored token, with an old manifest', identity('a', 1), undefined, both, identity('b', 8, a1), ['b']],
    ['has the stored token, with an old status', none, identity('a', 1), both, identity('b', 8, a1), ['b']],
    ['has the stored token instead of the newest', none, undefined, both, identity('a', 8, b2), ['a']],
    ['has the stored token, not the adopted one', none, identity('x', 0), onlyB, identity('b', 8, adopted), ['b']],
    ['has no foreign token', none, identity('a', 1), onlyA, identity('a', 8), ['x']],
  ])('%s', (_, recorded, shown, known, expected, stored = []) => {
    expect(recoveredIdentity(recorded, shown, known, stored, NOW)).toEqual(expected);
  });
});

test.each<[string, Identity, Identity | undefined, CreateScope, Identity]>([
  ['if there are none', none, undefined, empty, none],
  ['if they were created for it', identity('a', 2, b2), undefined, both, identity('a', 2, b2)],
  ['if its status shows them', identity('a', 2, b2), identity('a', 2, b2), empty, identity('a', 2, b2)],
  ['except for a foreign current one', identity('x', 2, b2), undefined, both, identity(undefined, 2, b2)],
  ['except for a foreign superseded one', identity('a', 2, adopted, b2), identity('a', 2), onlyB, identity('a', 2, b2)],
])('the resources in the annotations belong to the object %s', (_, recorded, shown, known, expected) => {
  expect(onlyOwn(recorded, shown, known)).toEqual(expected);
  expect(namesOnlyOwn(recorded, shown, known)).toBe(JSON.stringify(recorded) === JSON.stringify(expected));
});

test.each<[string, CreateScope, Identity]>([
  ['nothing else', empty, identity('x', 0)],
  ['another one, which is retired', onlyB, identity('x', 0, b2)],
  ['the adopted one itself', scope({ x: 1, b: 2 }), identity('x', 8, b2)],
])('an object adopts a resource after %s was created for it', (_, known, expected) => {
  expect(adoptedIdentity('x', known, NOW)).toEqual(expected);
});
