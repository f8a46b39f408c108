import { describe, expect, test } from 'vitest';
import { ANNOTATION, MANAGED_BY, SECRET_TYPE } from '../../../../src/operator/contract/names.ts';
import { type KubeObject, kubeObject } from '../../../../src/operator/kube/kube-object.ts';
import {
  isIntact,
  type SecretSpec,
  secretBody,
  secretNameOf,
  tokenIn,
} from '../../../../src/operator/managed/secrets/content.ts';
import { encode } from '../../../../src/operator/managed/secrets/data.ts';
import { withoutData } from '../../../../src/operator/managed/secrets/secret-cache.ts';
import { object } from '../../objects.ts';

const credential = object({ name: 'cred', uid: 'u1', kind: 'TunnelCredential' });
const spec: SecretSpec = { secret: { key: 'token' } };
const templated: SecretSpec = {
  secret: { key: 'token', template: { labels: { team: 'a' }, annotations: { note: 'n' } } },
};

/** The Secret as the API server returns it after the create. */
const written = (of: SecretSpec = spec, token = 't0ken') =>
  kubeObject.parse({
    ...secretBody(credential, of, 'cr_1', token),
    metadata: { ...object().metadata, ...secretBody(credential, of, 'cr_1', token).metadata },
  });

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
    expect(isIntact(cached(secret), credential, by, 'cr_1')).toBe(expected);
  });

  test('not when there is none', () => {
    expect(isIntact(undefined, credential, spec, 'cr_1')).toBe(false);
  });
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
    expect(tokenIn(secret, 'cr_1')).toBe(expected);
  });
});

describe('the body', () => {
  test('of a create has token and id, and is owned by the object', () => {
    const body = secretBody(credential, spec, 'cr_1', 't0ken');
    expect(body).toMatchObject({
      type: SECRET_TYPE,
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
    expect(secretBody(credential, spec, 'cr_1', 't0ken', existing).metadata).toMatchObject({
      uid: existing.metadata.uid,
      resourceVersion: existing.metadata.resourceVersion,
    });
  });

  test.each<[string, KubeObject, SecretSpec, object]>([
    ['data under other keys', written(), { secret: { key: 'authtoken' } }, { data: { token: null } }],
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
    expect(secretBody(credential, by, 'cr_1', 't0ken', existing)).toMatchObject(expected);
  });

  test('of a patch leaves alone what others added', () => {
    const existing = edited(written(), { labels: { x: 'y' }, annotations: { [ANNOTATION.template]: 'no JSON' } });
    const { labels, annotations } = secretBody(credential, spec, 'cr_1', 't0ken', existing).metadata;
    expect(labels).toEqual({ [MANAGED_BY.label]: MANAGED_BY.value });
    expect(Object.keys(annotations)).toEqual([ANNOTATION.template, ANNOTATION.tokenSha256]);
  });
});
