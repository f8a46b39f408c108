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

test.each<[string, Parameters<typeof object>[1], Record<string, string> | undefined]>([
  ['in a new object', {}, {}],
  ['in a new object, with a handled rotation', { rotateRequestedAt: 't' }, { [ANNOTATION.rotateHandledAt]: 't' }],
  ['not while a create is under way', { createGeneration: '1' }, undefined],
  ['not in an object with a resource', { externalId: 'x' }, undefined],
])('the first generation is missing %s', (_, annotations, expected) => {
  const missing = expected && { identity: identity(1), annotations: expected };
  expect(missingIntent(object({ metadata: { finalizers } }, annotations))).toEqual(missing);
});

test('before a create, its generation and the finalizer are written', async () => {
  const { managed, object: written, identity: recorded } = await manage(object());
  await ensureIntent(managed);
  expect(await recorded()).toEqual(identity(1));
  expect((await written()).metadata.finalizers).toEqual(finalizers);
});

test('a removed finalizer is put back, beside those of others', async () => {
  const of = object({ metadata: { finalizers: ['other'] } }, { externalId: 'thg_1', createGeneration: '2' });
  const { managed, object: written, identity: recorded } = await manage(of);
  const before = await recorded();
  await ensureFinalizer(managed);
  expect((await written()).metadata.finalizers).toEqual(['other', FINALIZER]);
  expect(await recorded()).toEqual(before);
});
