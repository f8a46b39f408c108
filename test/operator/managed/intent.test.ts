import { expect, test } from 'vitest';
import { ANNOTATION, FINALIZER } from '../../../src/operator/contract/names.ts';
import type { Identity } from '../../../src/operator/managed/identity.ts';
import { identityToRestore, missingIntent, restoredIdentity } from '../../../src/operator/managed/intent.ts';
import { object } from '../objects.ts';

const finalizers = [FINALIZER];
const identity = (generation: number, externalId?: string): Identity => ({ externalId, generation, retiring: [] });

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
  [
    'only the finalizer, when that was taken away',
    object({}, { externalId: 'x', createGeneration: '2', rotateRequestedAt: 't' }),
    { identity: identity(2, 'x'), annotations: {} },
  ],
])('before a create, an object still needs %s', (_, of, expected) => {
  expect(missingIntent(of)).toEqual(expected);
});

const status = { id: 'x', createGeneration: 2 };
const deletionTimestamp = '2026-11-21T10:00:00Z';

test.each([
  ['of an object that lost it', object({ status }), identity(2, 'x')],
  ['not of one that has it', object({ status }, { externalId: 'x' }), undefined],
  [
    'of one that is being deleted and still held',
    object({ status, metadata: { deletionTimestamp, finalizers } }),
    identity(2, 'x'),
  ],
  [
    'not of one that is being deleted without our finalizer: it takes none any more',
    object({ status, metadata: { deletionTimestamp, finalizers: ['other'] } }),
    undefined,
  ],
])('an identity is restored %s', (_, of, expected) => {
  expect(identityToRestore(of)).toEqual(expected);
});

test('a resource created after the restored identity is retired at once', () => {
  const now = new Date('2026-11-21T12:00:00Z');
  const lost: Identity = { ...identity(2, 'x'), retiring: [{ id: 'w', generation: 1, after: 'later' }] };
  expect(restoredIdentity(lost, undefined, now)).toEqual(lost);
  expect(restoredIdentity(lost, 'y', now)).toEqual({
    ...lost,
    retiring: [...lost.retiring, { id: 'y', generation: 3, after: now.toISOString() }],
  });
});
