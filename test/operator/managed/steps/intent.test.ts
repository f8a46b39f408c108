import { expect, test } from 'vitest';
import { ANNOTATION, FINALIZER } from '../../../../src/operator/contract/names.ts';
import type { Identity } from '../../../../src/operator/managed/identity/identity.ts';
import { ensureFinalizer, ensureIntent, missingIntent } from '../../../../src/operator/managed/steps/intent.ts';
import { object } from '../../objects.ts';
import { manage } from '../managed-under-test.ts';

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

test('before a create, its generation and the finalizer are written', async () => {
  const { managed, object: written, identity: recorded } = await manage(object());
  await ensureIntent(managed);
  expect(await recorded()).toEqual(identity(1));
  expect((await written()).metadata.finalizers).toEqual(finalizers);
});

test('a finalizer that somebody has removed is put back, beside those of others', async () => {
  const of = object({ metadata: { finalizers: ['other'] } }, { externalId: 'thg_1', createGeneration: '2' });
  const { managed, object: written, identity: recorded } = await manage(of);
  const before = await recorded();
  await ensureFinalizer(managed);
  expect((await written()).metadata.finalizers).toEqual(['other', FINALIZER]);
  expect(await recorded()).toEqual(before);
});
