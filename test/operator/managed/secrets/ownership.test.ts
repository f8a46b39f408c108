import { describe, expect, test } from 'vitest';
import { SECRET_TYPE } from '../../../../src/operator/contract/names.ts';
import type { KubeObject, OwnerReference } from '../../../../src/operator/kube/kube-object.ts';
import type { ObjectChange } from '../../../../src/operator/kube/object-store.ts';
import { handout } from '../../../../src/operator/managed/declaration/handout.ts';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import {
  formerNames,
  isOurs,
  isOwnedBy,
  ownersOfChange,
  ownerUids,
  secretConflict,
} from '../../../../src/operator/managed/secrets/ownership.ts';
import { object } from '../../objects.ts';

const about = { what: 'token', key: 'token', member: 'token', isOneTime: true };
const token = handout({ name: 'credential' }, { ...about, type: 'authtoken' });
const apiKey = handout({ name: 'api_key' }, { ...about, type: 'apiKey' });
const credential = object({ name: 'cred', uid: 'u1', kind: 'TunnelCredential' }, { externalId: 'cr_1' });
const owner = (uid: string, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'tunnel-operator.dev/v1alpha1',
  kind: 'TunnelCredential',
  name: 'cred',
  uid,
  controller: true,
  ...more,
});
const secret = (ownerReferences: OwnerReference[], more: Partial<KubeObject> = {}) =>
  object({ name: 's', type: SECRET_TYPE.authtoken, kind: 'Secret', ...more, metadata: { ownerReferences } });
const holding = (id: string) => ({ data: { 'credential-id': encode(id) } });

describe('a Secret that exists', () => {
  test.each([
    ['belongs to the object', secret([owner('u1')]), undefined],
    ['belongs to it beside others', secret([owner('x', { name: 'other' }), owner('u1')]), undefined],
    ['is of an object of the same name, restored from a backup', secret([owner('u0')]), undefined],
    ['was released with the token of this credential', secret([], holding('cr_1')), undefined],
    ['was released with a token that is being retired', secret([], holding('cr_0')), undefined],
    ['was released with the token that is about to be recorded', secret([], holding('cr_2')), undefined],
  ])('is ours when it %s', (_, existing) => {
    const retiring = JSON.stringify([{ id: 'cr_0', generation: 1, after: '2026-11-21T10:00:00Z' }]);
    const of = object({ name: 'cred', uid: 'u1', kind: 'TunnelCredential' }, { externalId: 'cr_1', retiring });
    expect(isOurs(token, existing, of, 'cr_2')).toBe(true);
  });

  test('is not ours when it was released with what another kind hands out', () => {
    expect(isOurs(apiKey, secret([], holding('cr_1')), credential)).toBe(false);
    expect(isOurs(apiKey, secret([owner('u0')]), credential)).toBe(false);
  });

  const rename = 'set spec.secret.name to another name';
  test.each([
    ['nobody owns it', secret([]), `does not belong to this object: ${rename}, or delete the Secret`],
    ['it is of another type', secret([], { type: 'Opaque', ...holding('cr_1') }), 'does not belong to this object'],
    [
      'an object of another name owns it',
      secret([owner('u0', { name: 'other' })]),
      `belongs to TunnelCredential other: ${rename}`,
    ],
    ['an object of another kind owns it', secret([owner('u0', { kind: 'Other' })]), `belongs to Other cred: ${rename}`],
    [
      'a stranger owns it that does not control it',
      secret([owner('u0', { name: 'other', controller: false }), owner('u2', { name: 'third', controller: false })]),
      `belongs to TunnelCredential other: ${rename}`,
    ],
    [
      'one of several owners is a stranger',
      secret([owner('u0', { controller: false }), owner('u9', { name: 'other' })]),
      `belongs to TunnelCredential other: ${rename}`,
    ],
    [
      'it has the token of another credential',
      secret([], holding('cr_9')),
      `holds the token of cr_9: set the annotation tunnel-operator.dev/adopt to cr_9, or ${rename}`,
    ],
  ])('is not ours when %s, which names what helps', (_, existing, message) => {
    const fresh = object({ name: 'cred', uid: 'u1', kind: 'TunnelCredential' }, { createGeneration: '1' });
    expect(isOurs(token, existing, credential)).toBe(false);
    expect(secretConflict(token, existing, fresh, true)).toMatchObject({
      reason: 'SecretConflict',
      message: expect.stringContaining(`Secret s exists and ${message}`),
    });
  });

  test('is to be adopted only if its credential exists and the object has none of its own', () => {
    const existing = secret([], holding('cr_9'));
    expect(secretConflict(token, existing, credential, true).message).toBe(
      `Secret s exists and holds the token of cr_9: ${rename}`,
    );
    expect(secretConflict(token, existing, object(), false).message).toBe(
      `Secret s exists and holds the token of cr_9, which no longer exists: ${rename}, or delete the Secret`,
    );
    expect(secretConflict(token, existing, object(), undefined).message).toBe(
      `Secret s exists and holds the token of cr_9, which may not be adopted from namespace ns: ${rename}, or delete the Secret if nothing uses it`,
    );
  });
});

test('an owner is recognised by its UID', () => {
  expect(isOwnedBy(secret([owner('u1')]), credential)).toBe(true);
  expect(isOwnedBy(secret([owner('u0')]), credential)).toBe(false);
  expect(isOwnedBy(secret([]), credential)).toBe(false);
  expect(isOwnedBy(object(), credential)).toBe(false);
  expect([...ownerUids(secret([owner('u1'), owner('u2')]))]).toEqual(['u1', 'u2']);
  expect([...ownerUids(undefined)]).toEqual([]);
});

test.each([
  ['none', {}, [], 'cred', []],
  ['none but the present', { secretName: 'cred' }, ['cred'], 'cred', []],
  ['the one in the status', { secretName: 'old' }, ['cred'], 'cred', ['old']],
  ['those that it owns, after a crash before the status', {}, ['old', 'cred', 'older'], 'cred', ['old', 'older']],
  ['each once', { secretName: 'old' }, ['old'], 'cred', ['old']],
  ['all, when none is to stay', { secretName: 'cred' }, ['cred'], undefined, ['cred']],
])('former names of the Secret of an object: %s', (_, status, owned, name, expected) => {
  expect(formerNames(object({ status }), owned, name)).toEqual(expected);
});

const named = (name: string) => ({ kind: 'TunnelCredential', namespace: 'ns', name });
const key = 'ns/s';
test.each<[string, ObjectChange, object[]]>([
  ['its owner, when it is new', { type: 'added', key, object: secret([owner('u1')]) }, [named('cred')]],
  ['its owner, when it goes', { type: 'deleted', key, object: secret([owner('u1')]) }, [named('cred')]],
  [
    'its owner, once, when it changes',
    { type: 'updated', key, object: secret([owner('u1')]), previous: secret([owner('u1')]) },
    [named('cred')],
  ],
  [
    'who had it and who has it, when it is taken away',
    { type: 'updated', key, object: secret([owner('u2', { name: 'b' })]), previous: secret([owner('u1')]) },
    [named('cred'), named('b')],
  ],
  ['nobody, when it is nobody’s', { type: 'added', key, object: secret([]) }, []],
  [
    'its owner, also one that does not control it (any more)',
    { type: 'added', key, object: secret([owner('u1', { controller: false })]) },
    [expect.objectContaining({ name: owner('u1').name })],
  ],
])('a change of a Secret concerns %s', (_, change, expected) => {
  expect(ownersOfChange(change)).toEqual(expected);
});
