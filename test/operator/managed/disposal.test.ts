import { describe, expect, test } from 'vitest';
import { idsToDelete, whenRetained } from '../../../src/operator/managed/disposal.ts';
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
  expect(idsToDelete(identity)).toEqual(expected);
});

describe('when the resource is retained', () => {
  test.each<[string, Identity, string | undefined, string[], string | undefined, string[]]>([
    ['there is none', nothing, undefined, [], undefined, []],
    ['it was never replaced', created, 'a', ['a'], 'a', []],
    ['it has replaced others', replaced, 'c', ['c'], 'c', ['a', 'b']],
    ['its Secret was edited', replaced, 'c', ['a'], 'c', ['a', 'b']],
    ['its successor was begun and does not exist', replacing, undefined, ['a'], 'a', []],
    ['its successor exists, and the Secret has the old token', replaced, undefined, ['b'], 'b', ['a', 'c']],
    ['its successor exists and is in the Secret', replaced, undefined, ['c'], 'c', ['a', 'b']],
    ['its successor exists, and there is no Secret', replaced, undefined, [], 'c', ['a', 'b']],
  ])('and %s, the right one stays', (_, identity, recorded, held, kept, superseded) => {
    const result = whenRetained(identity, recorded, held);
    expect({ ...result, superseded: result.superseded.map(({ id }) => id) }).toEqual({ kept, superseded });
  });
});
