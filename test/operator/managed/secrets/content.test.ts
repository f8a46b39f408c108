import { expect, test } from 'vitest';
import { ANNOTATION, MANAGED_BY, SECRET_TYPE } from '../../../../src/operator/contract/names.ts';
import { annotation, type KubeObject, kubeObject } from '../../../../src/operator/kube/kube-object.ts';
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

/** A copy with parts of it edited by hand. */
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
  expect(secretNameOf(token, credential, spec)).toBe('cred');
  expect(secretNameOf(token, credential, { secret: { key: 'token', name: 'other' } })).toBe('other');
});

test('objects of several kinds and one name have Secrets of different names', () => {
  const types = ['authtoken', 'apiKey', 'signingSecret', 'sshCertificate'] as const;
  const names = types.map((type) => secretNameOf(handout({ name: 'any' }, { ...token, type }), credential, spec));
  expect(names).toEqual(['cred', 'cred-api-key', 'cred-signing-secret', 'cred-ssh-certificate']);
});

test('a Secret with the bare name of its object keeps it', () => {
  const before = { ...credential, status: { secretName: 'cred' } };
  expect(secretNameOf(handout({ name: 'any' }, { ...token, type: 'apiKey' }), before, spec)).toBe('cred');
});

const foreign = edited(written(), { labels: { x: 'y' }, annotations: { x: 'y' } });
const relabelled = edited(written(templated), { labels: { team: 'b' } });
test.each<[string, boolean, KubeObject | undefined, SecretSpec, string?]>([
  ['as it was written', true, written(), spec],
  ['from its template', true, written(templated), templated],
  ['with metadata that others added', true, foreign, spec],
  ['with the value in the response', true, written(), spec, 't0ken'],
  ['with a value other than in the response', false, written(), spec, 'other'],
  ['with another token', false, edited(written(), { data: { token: encode('forged') } }), spec],
  ['with another id', false, edited(written(), { data: { 'credential-id': encode('cr_2') } }), spec],
  ['with more data', false, edited(written(), { data: { more: encode('x') } }), spec],
  ['under another key', false, written(), { secret: { key: 'authtoken' } }],
  ['without its owner', false, edited(written(), { ownerReferences: [] }), spec],
  ['with another label than the template', false, relabelled, templated],
  ['without our label', false, edited(written(), { labels: { [MANAGED_BY.label]: 'helm' } }), spec],
  ['written before the template', false, written(), templated],
  ['written before the template was emptied', false, written(templated), spec],
  ['that is missing', false, undefined, spec],
])('a Secret %s is intact: %s', (_, expected, secret, by, value) => {
  expect(isIntact(token, secret && cached(secret), credential, by, { id: 'cr_1', value })).toBe(expected);
});

test('a handout names the key of the id, and finds the value in a response', () => {
  expect(handout({ name: 'ssh_certificate' }, { ...token, type: 'authtoken' }).idKey).toBe('ssh-certificate-id');
  expect([{ token: 't0ken' }, { token: null }, {}].map((remote) => valueIn(token, remote))).toEqual([
    't0ken',
    undefined,
    undefined,
  ]);
});

test.each<[string, KubeObject | undefined, string | undefined]>([
  ['is what was written', written(), 't0ken'],
  ['is found under any key', written({ secret: { key: 'old-key' } }), 't0ken'],
  ['is lost by an edit', edited(written(), { data: { token: encode('forged') } }), undefined],
  ['is not that of another credential', edited(written(), { data: { 'credential-id': encode('cr_2') } }), undefined],
  ['is lost with the digest', edited(written(), { annotations: { [ANNOTATION.tokenSha256]: 'x' } }), undefined],
  ['is lost with the data', { ...written(), data: undefined }, undefined],
  ['is lost with the Secret', undefined, undefined],
])('the stored token %s', (_, secret, expected) => {
  expect(storedValue(token, secret, { id: 'cr_1' })).toBe(expected);
});

test('the body of a create has token and id, and names its owner', () => {
  const body = secretBody(token, credential, spec, handed);
  const owner = { kind: 'TunnelCredential', uid: 'u1', controller: true, blockOwnerDeletion: true };
  expect(body).toMatchObject({
    type: SECRET_TYPE.authtoken,
    metadata: { name: 'cred', ownerReferences: [owner] },
    data: { token: encode('t0ken'), 'credential-id': encode('cr_1') },
  });
  expect(body.metadata).not.toHaveProperty('resourceVersion');
});

const oneLabel: SecretSpec = { secret: { key: 'token', template: { labels: { team: 'b' } } } };
const gone = { labels: { team: null }, annotations: { note: null, [ANNOTATION.template]: null } };
test.each<[string, KubeObject, SecretSpec, object]>([
  ['data under other keys', written(), { secret: { key: 'authtoken' } }, { data: { token: null } }],
  ['data under a key that every JavaScript object has', written(inherited), spec, { data: { constructor: null } }],
  ['the template, and its marker', written(templated), spec, { metadata: gone }],
  [
    'only metadata that left the template',
    written(templated),
    oneLabel,
    { metadata: { labels: { team: 'b' }, annotations: { note: null } } },
  ],
])('the body of a patch removes %s, from this version only', (_, existing, by, expected) => {
  const { uid, resourceVersion } = existing.metadata;
  const body = secretBody(token, credential, by, handed, existing);
  expect(body).toMatchObject(expected);
  expect(body.metadata).toMatchObject({ uid, resourceVersion });
});

test('the body of a patch leaves alone metadata that others added', () => {
  const existing = edited(written(), { labels: { x: 'y' }, annotations: { [ANNOTATION.template]: 'no JSON' } });
  const { labels, annotations } = secretBody(token, credential, spec, handed, existing).metadata;
  expect(labels).toEqual({ [MANAGED_BY.label]: MANAGED_BY.value });
  expect(Object.keys(annotations)).toEqual([ANNOTATION.template, ANNOTATION.tokenSha256]);
});

test('a Secret holds the value of one issue, if a resource can issue several', () => {
  const [first, second] = ['2026-11-21T10:00:00.000Z', '2026-11-22T10:00:00.000Z'];
  const secret = kubeObject.parse({
    ...written(),
    metadata: {
      ...written().metadata,
      ...secretBody(token, credential, spec, { ...handed, issuedAt: first }).metadata,
    },
  });
  expect(annotation(secret, ANNOTATION.issuedAt)).toBe(first);
  for (const [issuedAt, expected] of [
    [first, true],
    [second, false],
    [undefined, true],
  ] as const) {
    const issue = { id: 'cr_1', issuedAt };
    expect(isIntact(token, cached(secret), credential, spec, issue)).toBe(expected);
    expect(storedValue(token, secret, issue)).toBe(expected ? 't0ken' : undefined);
  }
  const rewritten = secretBody(token, credential, spec, { ...handed, issuedAt: second }, secret);
  expect(rewritten.metadata.annotations[ANNOTATION.issuedAt]).toBe(second);
});
