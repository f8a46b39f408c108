import { expect, test } from 'vitest';
import { ANNOTATION, FINALIZER } from '../../../src/operator/contract/names.ts';
import type { Identity } from '../../../src/operator/managed/identity.ts';
import { missingIntent } from '../../../src/operator/managed/intent.ts';
import { object } from '../objects.ts';

const finalizers = [FINALIZER];
const KEY = expect.stringMatching(/^[0-9a-f-]{36}$/);
const identity = (generation: number): Identity => {
  return { externalId: undefined, generation, createKey: KEY, retiring: [] };
};

test.each<[string, ReturnType<typeof object>, ReturnType<typeof missingIntent>]>([
  ['the first generation, of a new object', object(), { identity: identity(1), annotations: {} }],
  [
    'the first generation, of a new object that somebody else holds',
    object({ metadata: { finalizers: ['other'] } }),
    { identity: identity(1), annotations: {} },
  ],
  [
    'also that a rotation asked for before is dealt with',
    object({}, { rotateRequestedAt: 't' }),
    { identity: identity(1), annotations: { [ANNOTATION.rotateHandledAt]: 't' } },
  ],
  [
    'nothing, when the first create is begun',
    object({ metadata: { finalizers } }, { createGeneration: '1' }),
    undefined,
  ],
  ['nothing, when a later one is', object({ metadata: { finalizers } }, { createGeneration: '2' }), undefined],
  ['nothing, when there is a resource', object({ metadata: { finalizers } }, { externalId: 'x' }), undefined],
])('before a create, an object still needs %s', (_, of, expected) => {
  expect(missingIntent(of)).toEqual(expected);
});
