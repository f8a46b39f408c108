import { expect, test } from 'vitest';
import { ANNOTATION } from '../../../../src/operator/contract/names.ts';
import { type SecretBody, secretBody } from '../../../../src/operator/managed/secrets/content.ts';
import {
  mustBeOfType,
  mustBeUnaltered,
  mustBeWritable,
} from '../../../../src/operator/managed/secrets/unwritable-secret.ts';
import { object } from '../../objects.ts';

const data = { token: 'dA==', 'credential-id': 'aQ==' };

test.each([
  ['that may change', { data }, { token: 'dQ==' }],
  ['of which nobody said whether it may', { immutable: false, data }, undefined],
  ['that is immutable and right', { immutable: true, data }, { ...data }],
])("a Secret %s is in nobody's way", (_, secret, wanted) => {
  expect(() => mustBeWritable(object(secret), wanted)).not.toThrow();
});

test.each([
  ['before a token is issued', undefined],
  ['with another token', { ...data, token: 'dQ==' }],
  ['under another key', { other: 'dA==', 'credential-id': 'aQ==' }],
  ['without a key that is to go', { ...data, old: null }],
])('an immutable Secret is in the way %s', (_, wanted) => {
  const message =
    'Secret a is immutable, and has to change: delete the Secret, or set spec.secret.name to another name';
  expect(() => mustBeWritable(object({ immutable: true, data }), wanted)).toThrow(message);
});

test('a Secret of another type is in the way', () => {
  const secretType = 'tunnel-operator.dev/authtoken';
  expect(() => mustBeOfType({ secretType }, object({ type: secretType }))).not.toThrow();
  const message = `Secret a has the type Opaque, and has to have the type ${secretType}: delete the Secret, or set`;
  expect(() => mustBeOfType({ secretType }, object({ type: 'Opaque' }))).toThrow(message);
});

test('a Secret that is being deleted is in the way', () => {
  const deleting = object({ metadata: { deletionTimestamp: '2026-11-21T10:00:00Z' }, data });
  expect(() => mustBeWritable(deleting, data)).toThrow('Secret a is being deleted; it is written anew once it is gone');
});

const handout = {
  what: 'token',
  secretType: 'tunnel-operator.dev/authtoken',
  idKey: 'credential-id',
  key: 'token',
  member: 'token',
  isOneTime: true,
};
const spec = { secret: { key: 'token', template: { labels: { app: 'shop' } } } };
const sent = secretBody(handout, object(), spec, { id: 'cr_1', value: 't' });
const stored = ({ type, metadata, data }: SecretBody) => object({ type, data, metadata: metadata as object });

test('a Secret that is stored as written is fine, whatever else is in its metadata', () => {
  const { labels, annotations, ...metadata } = sent.metadata;
  const more = { ...metadata, labels: { ...labels, by: 'a webhook' }, annotations: { ...annotations, note: 'x' } };
  expect(() => mustBeUnaltered(sent, stored({ ...sent, metadata: more }))).not.toThrow();
});

test('a Secret that has lost what was to go is as written', () => {
  const marker = JSON.stringify({ labels: ['old'], annotations: [] });
  const before = object({ metadata: { labels: { old: 'x' }, annotations: { [ANNOTATION.template]: marker } } });
  const patch = secretBody(handout, object(), spec, { id: 'cr_1', value: 't' }, before);
  expect(patch.metadata.labels).toMatchObject({ old: null });
  expect(() => mustBeUnaltered(patch, stored(sent))).not.toThrow();
  const { metadata } = patch;
  const unchanged = { ...patch, metadata: { ...metadata, labels: { ...metadata.labels, old: 'x' } } };
  expect(() => mustBeUnaltered(patch, stored(unchanged))).toThrow('metadata.labels[old] of Secret a');
});

test.each<[string, Partial<SecretBody>]>([
  ['type', { type: 'Opaque' }],
  [
    'metadata.labels[app]',
    { metadata: { ...sent.metadata, labels: Object.assign({}, sent.metadata.labels, { app: 'other' }) } },
  ],
  [
    'metadata.annotations[tunnel-operator.dev/token-sha256]',
    {
      metadata: {
        ...sent.metadata,
        annotations: { ...sent.metadata.annotations, 'tunnel-operator.dev/token-sha256': '' },
      },
    },
  ],
  ['metadata.ownerReferences', { metadata: { ...sent.metadata, ownerReferences: [] } }],
  ['data[token]', { data: { ...sent.data, token: 'b3RoZXI=' } }],
  ['data[credential-id]', { data: { token: String(sent.data.token) } }],
  ['data[constructor]', { data: { ...sent.data, constructor: 'eA==' } }],
  ['data[more]', { data: { ...sent.data, more: 'eA==' } }],
])('a Secret whose %s is altered when it is stored is of no use', (field, altered) => {
  const message = `${field} of Secret a would not be stored as written: exempt Secrets of the type ${sent.type} from`;
  expect(() => mustBeUnaltered(sent, stored({ ...sent, ...altered }))).toThrow(message);
});
