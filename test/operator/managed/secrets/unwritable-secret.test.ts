import { expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import { handout } from '../../../../src/operator/managed/declaration/handout.ts';
import { type SecretBody, secretBody } from '../../../../src/operator/managed/secrets/content.ts';
import {
  requireName,
  requireSecretType,
  requireUnaltered,
  requireWritable,
} from '../../../../src/operator/managed/secrets/unwritable-secret.ts';
import { object } from '../../objects.ts';

const data = { token: 'dA==', 'credential-id': 'aQ==' };

const immutable =
  'Secret a is immutable, and has to change: delete the Secret, or set spec.secret.name to another name';
const deletionTimestamp = '2026-11-21T10:00:00Z';
test.each<[string, Parameters<typeof object>[0], Record<string, unknown> | undefined, string?]>([
  ['that is mutable', { immutable: false, data }, undefined],
  ['that is immutable and right', { immutable: true, data }, { ...data }],
  ['that is immutable, before the token is known', { immutable: true, data }, undefined, immutable],
  ['that is immutable and has another token', { immutable: true, data }, { ...data, token: 'dQ==' }, immutable],
  ['that is immutable and has an old key', { immutable: true, data }, { ...data, old: null }, immutable],
  ['that is being deleted', { metadata: { deletionTimestamp }, data }, data, 'it is written anew once it is gone'],
])('whether a Secret %s can be written', (_, secret, wanted, message) => {
  const writing = () => requireWritable(object(secret), wanted);
  if (message === undefined) expect(writing).not.toThrow();
  else expect(writing).toThrow(message);
});

test('the name of a Secret has at most 253 characters', () => {
  expect(() => requireName('a'.repeat(253))).not.toThrow();
  expect(() => requireName('a'.repeat(254))).toThrow(/has 254 characters.*: set spec\.secret\.name to a shorter/);
});

test('a Secret of another type cannot be written', () => {
  const secretType = 'tunnel-operator.dev/authtoken';
  expect(() => requireSecretType({ secretType }, object({ type: secretType }))).not.toThrow();
  const message = `Secret a has the type Opaque, and has to have the type ${secretType}: delete the Secret, or set`;
  expect(() => requireSecretType({ secretType }, object({ type: 'Opaque' }))).toThrow(message);
});

const token = handout(
  { name: 'credential' },
  { type: 'authtoken', what: 'token', key: 'token', member: 'token', isOneTime: true },
);
const spec = { secret: { key: 'token', template: { labels: { app: 'shop' } } } };
const sent = secretBody(token, object(), spec, { id: 'cr_1', value: 't' });
const stored = ({ type, metadata, data }: SecretBody) => object({ type, data, metadata: metadata as object });

test('a Secret that is stored as written is accepted with additional metadata', () => {
  const { labels, annotations, ...metadata } = sent.metadata;
  const more = { ...metadata, labels: { ...labels, by: 'a webhook' }, annotations: { ...annotations, note: 'x' } };
  expect(() => requireUnaltered(sent, stored({ ...sent, metadata: more }))).not.toThrow();
});

test('a Secret counts as written only without the metadata that the patch removes', () => {
  const marker = JSON.stringify({ labels: ['old'], annotations: [] });
  const before = object({ metadata: { labels: { old: 'x' }, annotations: { [ANNOTATION.template]: marker } } });
  const patch = secretBody(token, object(), spec, { id: 'cr_1', value: 't' }, before);
  expect(patch.metadata.labels).toMatchObject({ old: null });
  expect(() => requireUnaltered(patch, stored(sent))).not.toThrow();
  const { metadata } = patch;
  const unchanged = { ...patch, metadata: { ...metadata, labels: { ...metadata.labels, old: 'x' } } };
  expect(() => requireUnaltered(patch, stored(unchanged))).toThrow('metadata.labels[old] of Secret a');
});

const { labels, annotations } = sent.metadata;
const digest = { ...annotations, 'tunnel-operator.dev/token-sha256': '' };
test.each<[string, Partial<SecretBody>]>([
  ['type', { type: 'Opaque' }],
  ['metadata.labels[app]', { metadata: { ...sent.metadata, labels: Object.assign({}, labels, { app: 'other' }) } }],
  ['metadata.annotations[tunnel-operator.dev/token-sha256]', { metadata: { ...sent.metadata, annotations: digest } }],
  ['metadata.ownerReferences', { metadata: { ...sent.metadata, ownerReferences: [] } }],
  ['data[token]', { data: { ...sent.data, token: 'b3RoZXI=' } }],
  ['data[credential-id]', { data: { token: String(sent.data.token) } }],
  ['data[constructor]', { data: { ...sent.data, constructor: 'eA==' } }],
])('a Secret whose %s is altered when it is stored is refused', (field, altered) => {
  const message = `${field} of Secret a would not be stored as written: exempt Secrets of the type ${sent.type} from`;
  expect(() => requireUnaltered(sent, stored({ ...sent, ...altered }))).toThrow(message);
});
