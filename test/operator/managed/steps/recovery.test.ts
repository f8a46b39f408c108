import { describe, expect, test } from 'vitest';
import type { CreateScope } from '../../../../src/operator/managed/declaration/external.ts';
import type { Identity } from '../../../../src/operator/managed/identity/identity.ts';
import { isSound, recoveredIdentity } from '../../../../src/operator/managed/identity/recovered-identity.ts';

const NOW = new Date('2026-11-21T12:00:00.000Z');
const LATER = '2026-11-21T13:00:00.000Z';

const entry = (id: string, generation: number, after = NOW.toISOString()) => ({ id, generation, after });
const identity = (externalId: string | undefined, generation: number, ...retiring: Identity['retiring']): Identity => ({
  externalId,
  generation,
  createKey: undefined,
  retiring,
});
/** What was created first, second … and still exists. */
const scope = (...resources: [id: string, sequence: number][]): CreateScope => ({
  resources: resources.map(([id, sequence]) => ({ id, sequence })).reverse(),
  nextSequence: 9,
});
const none = identity(undefined, 0);

describe('the recorded identity', () => {
  test.each<[string, boolean, Identity, Identity | undefined, CreateScope]>([
    [
      'is sound when it names all there is',
      true,
      identity('b', 2, entry('a', 1)),
      undefined,
      scope(['a', 1], ['b', 2]),
    ],
    ['is sound when it names the first of all', true, identity('a', 1), undefined, scope(['a', 1])],
    ['is sound after a crash before the status', true, identity('b', 2), identity('a', 1), scope(['b', 2])],
    ['is not when the status shows another one', false, identity('x', 1), identity('a', 1), scope()],
    ['is sound when the one it replaces is shown', true, identity('x', 1, entry('a', 0)), identity('a', 0), scope()],
    [
      'is sound while a create is under way',
      true,
      identity(undefined, 2, entry('a', 1)),
      identity('a', 1),
      scope(['a', 1]),
    ],
    ['and when what that replaces is gone', true, identity(undefined, 2), identity('a', 1), scope()],
    ['and when that took effect', true, identity(undefined, 2, entry('a', 1)), undefined, scope(['a', 1], ['b', 2])],
    ['is not when that was another one', false, identity(undefined, 3), undefined, scope(['b', 2])],
    ['is not when it names a stranger beside what is there', false, identity('x', 1), undefined, scope(['a', 1])],
    ['is not when it forgot what is to be retired', false, identity('b', 2), undefined, scope(['a', 1], ['b', 2])],
    ['is not when it takes its own for adopted', false, identity('a', 0), undefined, scope(['a', 1])],
    ['is sound when it adopted', true, identity('x', 0), identity('x', 0), scope()],
    ['is not when it takes what it adopted for its own', false, identity('x', 3), identity('x', 0), scope()],
    [
      'is not when it forgot that what it adopted is to be retired',
      false,
      identity('b', 1),
      identity('b', 1, entry('x', 0)),
      scope(['b', 1]),
    ],
    [
      'is not when it forgot that while a create is under way',
      false,
      identity(undefined, 2),
      identity('b', 1, entry('x', 0)),
      scope(),
    ],
    ['is sound when it was restored from a backup', true, identity('a', 3, entry('b', 2)), undefined, scope()],
  ])('%s', (_, expected, recorded, shown, known) => {
    expect(isSound(recorded, shown, known)).toBe(expected);
  });
});

describe('the recovered identity', () => {
  test.each<[string, Identity, Identity | undefined, CreateScope, Identity, stored?: string[]]>([
    ['is none where nothing is', none, undefined, scope(), identity(undefined, 8)],
    ['is what the status shows', none, identity('a', 1), scope(['a', 1]), identity('a', 8)],
    [
      'is what the status shows, and what came after it is retired',
      none,
      identity('a', 1),
      scope(['a', 1], ['b', 2]),
      identity('a', 8, entry('b', 2)),
    ],
    [
      'keeps the time for which something was to be retired',
      none,
      identity('b', 2, entry('a', 1, LATER)),
      scope(['a', 1], ['b', 2]),
      identity('b', 8, entry('a', 1, LATER)),
    ],
    [
      'forgets what the status still retires and is gone, but not what was adopted',
      none,
      identity('b', 2, entry('a', 1), entry('x', 0)),
      scope(['b', 2]),
      identity('b', 8, entry('x', 0)),
    ],
    ['is the newest without a status', none, undefined, scope(['a', 1], ['b', 2]), identity('b', 8, entry('a', 1))],
    ['is what was adopted, by the status', none, identity('x', 0), scope(), identity('x', 0)],
    [
      'is what was adopted, although something was created since that nobody knows',
      none,
      identity('x', 0),
      scope(['b', 1]),
      identity('x', 0, entry('b', 1)),
    ],
    [
      'is its own instead of an id that was edited',
      identity('x', 1),
      identity('a', 1),
      scope(['a', 1]),
      identity('a', 8),
    ],
    ['is its own when the status was lost as well', identity('x', 1), undefined, scope(['a', 1]), identity('a', 8)],
    [
      'is what it adopted, although the generation was edited',
      identity('x', 3),
      identity('x', 0),
      scope(),
      identity('x', 0),
    ],
    [
      'still retires what it adopted before',
      identity('b', 1),
      identity('b', 1, entry('x', 0, LATER)),
      scope(['b', 1]),
      identity('b', 8, entry('x', 0, LATER)),
    ],
    [
      'is what it adopted instead of an id that was edited',
      identity('y', 0),
      identity('x', 0),
      scope(),
      identity('x', 0),
    ],
    ['is what the status shows when that is gone', identity('x', 1), identity('a', 1), scope(), identity('a', 8)],
    [
      'is the recorded one, although the status is behind',
      identity('b', 2, entry('a', 1, LATER)),
      identity('a', 1),
      scope(['a', 1], ['b', 2]),
      identity('b', 8, entry('a', 1, LATER)),
    ],
    [
      'is not what is superseded already',
      identity(undefined, 3, entry('a', 1)),
      identity('a', 1),
      scope(['a', 1]),
      identity(undefined, 8, entry('a', 1)),
    ],
    [
      'is what the create under way has made',
      identity(undefined, 2, entry('a', 1)),
      identity('a', 1),
      scope(['a', 1], ['b', 2]),
      identity('b', 8, entry('a', 1)),
    ],
    ['stays what was restored from a backup', identity('a', 3), undefined, scope(), identity('a', 8)],
    [
      'is what the status shows instead of what an old manifest names',
      identity('a', 1),
      identity('b', 2, entry('a', 1, LATER)),
      scope(['a', 1], ['b', 2]),
      identity('b', 8, entry('a', 1, LATER)),
    ],
    [
      'is the one whose token is stored, although an old manifest names another and the status is lost',
      identity('a', 1),
      undefined,
      scope(['a', 1], ['b', 2]),
      identity('b', 8, entry('a', 1)),
      ['b'],
    ],
    [
      'is the one whose token is stored, although the status is behind',
      none,
      identity('a', 1),
      scope(['a', 1], ['b', 2]),
      identity('b', 8, entry('a', 1)),
      ['b'],
    ],
    [
      'is the one whose token is stored instead of the newest',
      none,
      undefined,
      scope(['a', 1], ['b', 2]),
      identity('a', 8, entry('b', 2)),
      ['a'],
    ],
    [
      'is not the one whose token is stored when that is superseded already',
      identity(undefined, 3, entry('a', 1)),
      identity('a', 1),
      scope(['a', 1]),
      identity(undefined, 8, entry('a', 1)),
      ['a'],
    ],
    [
      'is the one whose token is stored instead of what was adopted before, which is retired',
      none,
      identity('x', 0),
      scope(['b', 1]),
      identity('b', 8, entry('x', 0)),
      ['b'],
    ],
    [
      'is not what a Secret names that is none of its own',
      none,
      identity('a', 1),
      scope(['a', 1]),
      identity('a', 8),
      ['x'],
    ],
  ])('%s', (_, recorded, shown, known, expected, stored = []) => {
    expect(recoveredIdentity(recorded, shown, known, stored, NOW)).toEqual(expected);
  });
});
