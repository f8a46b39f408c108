import { expect, test } from 'vitest';
import { SECRET_TYPE } from '../../../../src/operator/contract/names.ts';
import type { KubeObject, OwnerReference } from '../../../../src/operator/kube/kube-object.ts';
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

test.each([
  ['belongs to the object', secret([owner('u1')])],
  ['belongs to it and to others', secret([owner('x', { name: 'other' }), owner('u1')])],
  ['belonged to its predecessor in a backup', secret([owner('u0')])],
  ['was released with its token', secret([], holding('cr_1'))],
  ['was released with a superseded token', secret([], holding('cr_0'))],
  ['was released with the token that is about to be recorded', secret([], holding('cr_2'))],
])('an object may write a Secret that %s', (_, existing) => {
  const retiring = JSON.stringify([{ id: 'cr_0', generation: 1, after: '2026-11-21T10:00:00Z' }]);
  const of = object({ name: 'cred', uid: 'u1', kind: 'TunnelCredential' }, { externalId: 'cr_1', retiring });
  expect(isOurs(token, existing, of, 'cr_2')).toBe(true);
  expect(isOurs(apiKey, existing, of, 'cr_2')).toBe(isOwnedBy(existing, of));
});

const rename = 'set spec.secret.name to another name';
const other = { name: 'other' };
const strangers = [owner('u0', { ...other, controller: false }), owner('u2', { name: 'third', controller: false })];
const adopt = 'set the annotation tunnel-operator.dev/adopt to cr_9, or ';
const unused = 'or delete the Secret';
const fresh = object({ name: 'cred', uid: 'u1', kind: 'TunnelCredential' }, { createGeneration: '1' });
const released = secret([], holding('cr_9'));
test.each<[string, KubeObject, string, boolean?, KubeObject?]>([
  ['has no owner', secret([]), `does not belong to this object: ${rename}, ${unused}`],
  [
    'has another type',
    secret([], { type: 'Opaque', ...holding('cr_1') }),
    `does not belong to this object: ${rename}, ${unused}`,
  ],
  ['has an owner of another name', secret([owner('u0', other)]), `belongs to TunnelCredential other: ${rename}`],
  ['has an owner of another kind', secret([owner('u0', { kind: 'Other' })]), `belongs to Other cred: ${rename}`],
  ['has owners without a controller', secret(strangers), `belongs to TunnelCredential other: ${rename}`],
  [
    'has several owners',
    secret([owner('u0', { controller: false }), owner('u9', other)]),
    `belongs to TunnelCredential other: ${rename}`,
  ],
  ['has another token', released, `holds the token of cr_9: ${adopt}${rename}`],
  ['has another token than the object', released, `holds the token of cr_9: ${rename}`, true, credential],
  ['has an old token', released, `holds the token of cr_9, which no longer exists: ${rename}, ${unused}`, false],
])('an object may not write a Secret that %s, and is told why', (_, existing, message, exists = true, of = fresh) => {
  expect(isOurs(token, existing, credential)).toBe(false);
  const conflict = secretConflict(token, existing, of, exists);
  expect(conflict).toMatchObject({ reason: 'SecretConflict', message: `Secret s exists and ${message}` });
});

test('where nothing may be adopted, the message does not say whether the resource exists', () => {
  expect(secretConflict(token, released, object(), undefined).message).toBe(
    `Secret s exists and holds the token of cr_9, which may not be adopted from namespace ns: ${rename}, ${unused} if nothing uses it`,
  );
});

test('an owner is recognised by its UID', () => {
  expect(isOwnedBy(secret([owner('u1')]), credential)).toBe(true);
  expect(isOwnedBy(secret([owner('u0')]), credential)).toBe(false);
  expect(isOwnedBy(object(), credential)).toBe(false);
  expect([...ownerUids(secret([owner('u1'), owner('u2')]))]).toEqual(['u1', 'u2']);
  expect([...ownerUids(undefined)]).toEqual([]);
});

test.each([
  ['none but the current one', { secretName: 'cred' }, ['cred'], 'cred', []],
  ['the one in the status, once', { secretName: 'old' }, ['cred', 'old'], 'cred', ['old']],
  ['those it owns, if a crash kept them out of the status', {}, ['old', 'cred', 'older'], 'cred', ['old', 'older']],
  ['all, when none is to stay', { secretName: 'cred' }, ['cred'], undefined, ['cred']],
])('the object has Secrets under former names: %s', (_, status, owned, name, expected) => {
  expect(formerNames(object({ status }), owned, name)).toEqual(expected);
});

test('a change of a Secret concerns its owners before and after', () => {
  const named = (name: string) => ({ kind: 'TunnelCredential', namespace: 'ns', name });
  const [previous, taken] = [secret([owner('u1', { controller: false })]), secret([owner('u2', { name: 'b' })])];
  const key = 'ns/s';
  expect(ownersOfChange({ type: 'added', key, object: previous })).toEqual([named('cred')]);
  expect(ownersOfChange({ type: 'deleted', key, object: previous })).toEqual([named('cred')]);
  expect(ownersOfChange({ type: 'updated', key, object: previous, previous })).toEqual([named('cred')]);
  expect(ownersOfChange({ type: 'updated', key, object: taken, previous })).toEqual([named('cred'), named('b')]);
  expect(ownersOfChange({ type: 'added', key, object: secret([]) })).toEqual([]);
});
