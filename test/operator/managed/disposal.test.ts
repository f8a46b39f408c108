import { describe, expect, test } from 'vitest';
import { generationsToClose, idsToDelete, supersededWhenRetained } from '../../../src/operator/managed/disposal.ts';
import type { Identity } from '../../../src/operator/managed/identity.ts';

const entry = (id: string, generation: number) => ({ id, generation, after: '2026-11-21T10:00:00.000Z' });
const nothing: Identity = { externalId: undefined, generation: 0, retiring: [] };
const begun: Identity = { ...nothing, generation: 1 };
const created: Identity = { externalId: 'a', generation: 1, retiring: [] };
const adopted: Identity = { externalId: 'a', generation: 0, retiring: [] };
const replaced: Identity = { externalId: 'c', generation: 3, retiring: [entry('a', 0), entry('b', 2)] };
const replacing: Identity = { externalId: undefined, generation: 2, retiring: [entry('a', 1)] };

describe('when an object is deleted', () => {
  test.each<[string, Identity, number[]]>([
    ['none of one for which nothing was begun', nothing, []],
    ['the one that was begun', begun, [1]],
    ['none of an adoption: it was not created under a key of ours', adopted, []],
    ['the present and those that it has replaced, but for an adopted one', replaced, [3, 2]],
    ['each once', { ...replaced, retiring: [entry('a', 2), entry('b', 2)] }, [3, 2]],
  ])('the keys of these generations are closed: %s', (_, identity, expected) => {
    expect(generationsToClose(identity)).toEqual(expected);
  });

  test.each<[string, Identity, string[], string[]]>([
    ['nothing, where nothing was made', nothing, [], []],
    ['what was created and not recorded', begun, ['late'], ['late']],
    ['what is recorded', created, [], ['a']],
    ['what is recorded, once when its key names it too', created, ['a'], ['a']],
    ['what was adopted', adopted, [], ['a']],
    ['what was replaced first, the present last', replaced, [], ['a', 'b', 'c']],
    ['what is being replaced, and its successor under way', replacing, ['late', 'a'], ['a', 'late']],
  ])('these are deleted, in this order: %s', (_, identity, unrecorded, expected) => {
    expect(idsToDelete(identity, unrecorded)).toEqual(expected);
  });
});

test.each<[string, Identity, string[]]>([
  ['nothing else, of one that was never replaced', created, []],
  ['what has a successor', replaced, ['a', 'b']],
  ['nothing while the successor is not there: the old one is what is retained', replacing, []],
])('when the resource is retained, these are deleted anyway: %s', (_, identity, expected) => {
  expect(supersededWhenRetained(identity).map(({ id }) => id)).toEqual(expected);
});
