/** Namespaces that may not adopt existing resources or refer to them by id, and API keys that belong to users. */
import { expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { CREDENTIALS, credential, manifest, ours, POLICIES, policy, SECRETS } from './manifest.ts';
import { startStack } from './stack.ts';

const settings = { adoptNamespaces: ['elsewhere'], allowUserApiKeys: false };
const stack = await startStack({ prefix: 'grant', settings });
const { client } = stack;

const KEYS = ours('apikeys');

/** The id of a policy that belongs to no object in the cluster. */
const theirs = async () => (await client.ipPolicies.create({ description: 'theirs' })).id;
const bot = async () => (await client.botUsers.create({ name: 'theirs' })).id;
const observe = { managementPolicy: 'Observe' };
const object = (kind: string, spec: object, annotations = {}) => manifest(kind, 'it', spec, annotations);

test.for([
  ['the annotation adopt', 'ippolicies', theirs, (id: string) => policy('it', {}, { [ANNOTATION.adopt]: id })],
  [
    'the annotation external-id',
    'ippolicies',
    theirs,
    (id: string) => policy('it', {}, { [ANNOTATION.externalId]: id, [ANNOTATION.createGeneration]: '3' }),
  ],
  ['Observe', 'ippolicies', theirs, (id: string) => policy('it', observe, { [ANNOTATION.adopt]: id })],
  [
    'a reference by id in a list',
    'endpointconfigurations',
    theirs,
    (id: string) => object('EndpointConfiguration', { type: 'http', ipPolicyRefs: [{ id }] }),
  ],
  ['an owner by id', 'apikeys', bot, (id: string) => object('APIKey', { ownerRef: { id } })],
  [
    'an edge by id, whose modules the object would show',
    'tlsedgemodules',
    async () => (await client.tlsEdges.create({})).id,
    (id: string) => object('TLSEdgeModules', { tlsEdgeRef: { id }, ...observe }),
  ],
] as const)(
  '%s is refused, with the same message whether or not the resource exists',
  async ([, plural, make, declare]) => {
    const id = await make();
    const before = await stack.sql('select count(*) as n from events');
    const messages: (string | undefined)[] = [];
    for (const each of [id, id.replace(/_.*/, '_01jd0000000000000000000000')]) {
      await stack.apply(declare(each));
      const { ready } = await stack.reason(ours(plural), 'it', 'Ready', 'AccessDenied');
      messages.push(ready?.message);
      await stack.remove(ours(plural), 'it');
    }
    expect(messages[0]).toContain('--adopt-namespaces');
    expect(messages[1]).toBe(messages[0]);
    expect(await stack.sql('select count(*) as n from events')).toEqual(before);
  },
);

test('adopting and observing work once the namespace is in the list', async () => {
  const [adopted, observed] = [await theirs(), await theirs()];
  await stack.apply(
    policy('adopted', { description: 'ours' }, { [ANNOTATION.adopt]: adopted }),
    policy('observed', observe, { [ANNOTATION.adopt]: observed }),
  );
  for (const name of ['adopted', 'observed']) await stack.reason(POLICIES, name, 'Ready', 'AccessDenied');
  await stack.restart(undefined, { adoptNamespaces: ['elsewhere', stack.namespace] });
  expect((await stack.ready(POLICIES, 'adopted')).status.id).toBe(adopted);
  expect((await stack.ready(POLICIES, 'observed')).status.id).toBe(observed);
  await stack.remove(POLICIES, 'adopted', 'observed');
  await expect(client.ipPolicies.get(adopted)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await client.ipPolicies.get(observed)).toMatchObject({ description: 'theirs' });
});

test('an API key without a bot as its owner is refused unless --allow-user-api-keys is set', async () => {
  await stack.restart(undefined, { adoptNamespaces: undefined });
  const before = await stack.remoteIds();
  await stack.apply(object('APIKey', {}));
  const { ready } = await stack.reason(KEYS, 'it', 'Ready', 'AccessDenied');
  expect(ready?.message).toContain('spec.ownerRef');
  expect(await stack.secret('it')).toBeUndefined();
  expect(await stack.remoteIds()).toEqual(before);
  await stack.restart(undefined, { adoptNamespaces: undefined, allowUserApiKeys: true });
  await stack.ready(KEYS, 'it');
  await stack.remove(KEYS, 'it');
});

test('a restored object keeps its credential and its Secret once its namespace is permitted', async () => {
  await stack.restart();
  await stack.apply(credential('backup'));
  const { object: backup, status } = await stack.ready(CREDENTIALS, 'backup');
  const token = await stack.secret('backup');
  const { data, type, metadata } = await stack.kube.get(SECRETS, 'backup', stack.namespace);
  await stack.restart(async () => {
    await stack.kube.patch(CREDENTIALS, 'backup', { metadata: { finalizers: null } }, stack.namespace);
    await stack.remove(CREDENTIALS, 'backup');
    await stack.run('delete', 'secret', 'backup', '--ignore-not-found');
    const { name, labels, annotations } = metadata;
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, labels, annotations }, type, data };
    expect(await stack.tryApply(secret)).toMatchObject({ code: 0 });
    await stack.apply(credential('backup', {}, backup.metadata.annotations));
  });
  const { ready } = await stack.reason(CREDENTIALS, 'backup', 'Ready', 'AccessDenied');
  expect(ready?.message).toContain('--adopt-namespaces that include it until this object is Ready');
  await stack.restart(undefined, { adoptNamespaces: [stack.namespace] });
  expect((await stack.ready(CREDENTIALS, 'backup')).status.id).toBe(status.id);
  // The status now records that this object created the credential, so the permission is no longer needed.
  await stack.restart();
  await stack.reconciled(CREDENTIALS, 'backup');
  expect((await stack.ready(CREDENTIALS, 'backup')).status.id).toBe(status.id);
  expect(await stack.secret('backup')).toEqual(token);
});
