import { describe, expect, test } from 'vitest';
import { ANNOTATION, MANAGED_BY, SECRET_TYPE } from '../../../../src/operator/contract/names.ts';
import { type KubeObject, kubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { handout, valueIn } from '../../../../src/operator/managed/declaration/handout.ts';
import {
  isIntact,
  type SecretSpec,
  secretBody,
  secretNameOf,
  storedValue,
} from '../../../../src/operator/managed/secrets/content.ts';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import { withoutData } from '../../../../src/operator/managed/secrets/secret-cache.ts';
import { object } from '../../objects.ts';

const token = handout(
  { name: 'credential' },
  { type: 'authtoken', what: 'token', key: 'token', member: 'token', isOneTime: true },
);
const handed = { id: 'cr_1', value: 't0ken' };
const credential = object({ name: 'cred', uid: 'u1', kind: 'TunnelCredential' });
const spec: SecretSpec = { secret: { key: 'token' } };
const inherited: SecretSpec = { secret: { key: 'constructor' } };
const templated: SecretSpec = {
  secret: { key: 'token', template: { labels: { team: 'a' }, annotations: { note: 'n' } } },
};

/** The Secret as the API server returns it after the create. */
const written = (of: SecretSpec = spec) => {
  const body = secretBody(token, credential, of, handed);
  return kubeObject.parse({ ...body, metadata: { ...object().metadata, ...body.metadata } });
};

/** The same with another part of it edited by hand. */
function edited(secret: KubeObject, { data = {}, labels = {}, annotations = {}, ...metadata }: Record<string, object>) {
  return kubeObject.parse({
    ...secret,
    data: { ...(secret.data as object), ...data },
    metadata: {
      ...secret.metadata,
      ...metadata,
      labels: { ...secret.metadata.labels, ...labels },
      annotations: { ...secret.metadata.annotations, ...annotations },
    },
  });
}

/** As the cache has it: digests in place of data. */
const cached = (secret: KubeObject) => {
  const seen = withoutData(secret);
  return { object: seen, digests: seen.digests as Record<string, string> };
};

test('the Secret has the name of its object, unless the spec sets another', () => {
  expect(secretNameOf(credential, spec)).toBe('cred');
  expect(secretNameOf(credential, { secret: { key: 'token', name: 'other' } })).toBe('other');
});

describe('a Secret is intact', () => {
  test.each<[string, KubeObject, SecretSpec, boolean]>([
    ['as it was written', written(), spec, true],
    ['as it was written from a template', written(templated), templated, true],
    [
      'with labels and annotations of others',
      edited(written(), { labels: { x: 'y' }, annotations: { x: 'y' } }),
      spec,
      true,
    ],
    ['not with another token', edited(written(), { data: { token: encode('forged') } }), spec, false],
    ['not with another id', edited(written(), { data: { 'credential-id': encode('cr_2') } }), spec, false],
    ['not with more data', edited(written(), { data: { more: encode('x') } }), spec, false],
    ['not under another key', written(), { secret: { key: 'authtoken' } }, false],
    ['not without its owner', edited(written(), { ownerReferences: [] }), spec, false],
    [
      'not with another label than the template',
      edited(written(templated), { labels: { team: 'b' } }),
      templated,
      false,
    ],
    ['not without our label', edited(written(), { labels: { [MANAGED_BY.label]: 'helm' } }), spec, false],
    ['not when the template came since', written(), templated, false],
    ['not when the template was emptied since', written(templated), spec, false],
  ])('%s', (_, secret, by, expected) => {
    expect(isIntact(token, cached(secret), credential, by, { id: 'cr_1' })).toBe(expected);
  });

  test('not when there is none', () => {
    expect(isIntact(token, undefined, credential, spec, { id: 'cr_1' })).toBe(false);
  });
});

test.each([
  ['the value that it has', 't0ken', true],
  ['another value', 'other', false],
])('a Secret is intact for what every response shows: %s', (_, value, expected) => {
  expect(isIntact(token, cached(written()), credential, spec, { id: 'cr_1', value })).toBe(expected);
});

test.each([
  ['credential', 'credential-id'],
  ['ssh_host_certificate', 'ssh-host-certificate-id'],
])('the key of the id of a %s is %s', (name, idKey) => {
  expect(handout({ name }, { ...token, type: 'authtoken' })).toEqual({ ...token, idKey });
});

test.each([
  ['shown', { token: 't0ken' }, 't0ken'],
  ['not shown any more', { token: null }, undefined],
  ['not a member', {}, undefined],
])('the value of a resource when it is %s', (_, remote, expected) => {
  expect(valueIn(token, remote)).toBe(expected);
});

describe('the token', () => {
  test.each<[string, KubeObject | undefined, string | undefined]>([
    ['is what was written', written(), 't0ken'],
    ['is found under whatever key it was written', written({ secret: { key: 'old-key' } }), 't0ken'],
    ['is not taken when it was edited', edited(written(), { data: { token: encode('forged') } }), undefined],
    ['is not that of another credential', edited(written(), { data: { 'credential-id': encode('cr_2') } }), undefined],
    ['is lost with the digest', edited(written(), { annotations: { [ANNOTATION.tokenSha256]: 'x' } }), undefined],
    ['is lost with the data', { ...written(), data: undefined }, undefined],
    ['is lost with the Secret', undefined, undefined],
  ])('%s', (_, secret, expected) => {
    expect(storedValue(token, secret, 'cr_1')).toBe(expected);
  });
});

describe('the body', () => {
  test('of a create has token and id, and is owned by the object', () => {
    const body = secretBody(token, credential, spec, handed);
    expect(body).toMatchObject({
      type: SECRET_TYPE.authtoken,
      metadata: {
        name: 'cred',
        ownerReferences: [{ kind: 'TunnelCredential', uid: 'u1', controller: true, blockOwnerDeletion: true }],
      },
      data: { token: encode('t0ken'), 'credential-id': encode('cr_1') },
    });
    expect(body.metadata).not.toHaveProperty('resourceVersion');
  });

  test('of a patch applies only to this version', () => {
    const existing = edited(written(), {});
    expect(secretBody(token, credential, spec, handed, existing).metadata).toMatchObject({
      uid: existing.metadata.uid,
      resourceVersion: existing.metadata.resourceVersion,
    });
  });

  test.each<[string, KubeObject, SecretSpec, object]>([
    ['data under other keys', written(), { secret: { key: 'authtoken' } }, { data: { token: null } }],
    ['data under keys that any object has', written(inherited), spec, { data: { constructor: null } }],
    [
      'labels and annotations that left the template, and its marker',
      written(templated),
      spec,
      { metadata: { labels: { team: null }, annotations: { note: null, [ANNOTATION.template]: null } } },
    ],
    [
      'only those that left',
      written(templated),
      { secret: { key: 'token', template: { labels: { team: 'b' } } } },
      { metadata: { labels: { team: 'b' }, annotations: { note: null } } },
    ],
  ])('of a patch removes %s', (_, existing, by, expected) => {
    expect(secretBody(token, credential, by, handed, existing)).toMatchObject(expected);
  });

  test('of a patch leaves alone what others added', () => {
    const existing = edited(written(), { labels: { x: 'y' }, annotations: { [ANNOTATION.template]: 'no JSON' } });
    const { labels, annotations } = secretBody(token, credential, spec, handed, existing).metadata;
    expect(labels).toEqual({ [MANAGED_BY.label]: MANAGED_BY.value });
    expect(Object.keys(annotations)).toEqual([ANNOTATION.template, ANNOTATION.tokenSha256]);
  });
});
