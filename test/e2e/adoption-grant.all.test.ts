/** Namespaces in which existing resources may neither be adopted nor named by id, and keys with the rights of users. */
import { describe, expect, test } from 'vitest';
import { CREDENTIALS, credential, eventually, ours, POLICIES, policy, SECRETS, startStack } from './stack.ts';

const stack = await startStack({
  prefix: 'grant',
  settings: { adoptNamespaces: ['elsewhere'], allowUserApiKeys: false },
});
const { client } = stack;

const GROUP = 'tunnel-operator.dev';
const ABSENT = 'ipp_01jd0000000000000000000000';

/** The id of a policy that is nobody's in the cluster. */
const theirs = async () => (await client.ipPolicies.create({ description: 'theirs' })).id;

test.for([
  ['the annotation adopt', (id: string) => policy('it', {}, { [`${GROUP}/adopt`]: id })],
  ['Observe', (id: string) => policy('it', { managementPolicy: 'Observe' }, { [`${GROUP}/adopt`]: id })],
  ['the annotation external-id', (id: string) => policy('it', {}, { [`${GROUP}/external-id`]: id })],
  [
    'the annotation external-id with a generation',
    (id: string) => policy('it', {}, { [`${GROUP}/external-id`]: id, [`${GROUP}/create-generation`]: '3' }),
  ],
  [
    'Observe with the annotation external-id',
    (id: string) => policy('it', { managementPolicy: 'Observe' }, { [`${GROUP}/external-id`]: id }),
  ],
] as const)('%s is refused, in the same words whether or not the resource exists', async ([, manifestFor]) => {
  const id = await theirs();
  const messages: (string | undefined)[] = [];
  for (const each of [id, ABSENT]) {
    await stack.apply(manifestFor(each));
    const { ready } = await stack.reason(POLICIES, 'it', 'Ready', 'AccessDenied');
    messages.push(ready?.message);
    await stack.remove(POLICIES, 'it');
  }
  expect(messages[0]).toContain('--adopt-namespaces');
  expect(messages[1]).toBe(messages[0]);
  expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'theirs' });
});

test('what the annotation retiring names is not deleted', async () => {
  const id = await theirs();
  const retiring = JSON.stringify([{ id, generation: 0, after: '2026-01-01T00:00:00Z' }]);
  await stack.apply(policy('it', {}, { [`${GROUP}/retiring`]: retiring }));
  await eventually(async () => {
    const { ready } = await stack.see(POLICIES, 'it');
    expect(ready).toMatchObject({ status: 'True' });
  });
  await stack.remove(POLICIES, 'it');
  expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'theirs' });
});

test('a denied object keeps nobody else from adopting what it names', async () => {
  const id = await theirs();
  await stack.apply(policy('denied', {}, { [`${GROUP}/external-id`]: id }));
  await stack.reason(POLICIES, 'denied', 'Ready', 'AccessDenied');
  // The same operator, for lack of another namespace: what counts is that no claim is said to stand in the way.
  await stack.apply(policy('later', {}, { [`${GROUP}/adopt`]: id }));
  await stack.reason(POLICIES, 'later', 'Ready', 'AccessDenied');
  await stack.remove(POLICIES, 'denied', 'later');
  expect(await client.ipPolicies.get(id)).toMatchObject({ description: 'theirs' });
});

test('modules of an edge that is named by its id are neither read nor changed', async () => {
  const edges = { group: GROUP, version: 'v1alpha1', plural: 'tlsedgemodules' };
  const [{ id }, allowed] = [await client.tlsEdges.create({}), await theirs()];
  await client.tlsEdgeModules(id).ipRestriction.put({ ip_policy_ids: [allowed] });
  for (const managementPolicy of ['Manage', 'Observe']) {
    const spec = { tlsEdgeRef: { id }, managementPolicy };
    const manifest = { apiVersion: `${GROUP}/v1alpha1`, kind: 'TLSEdgeModules', metadata: { name: 'it' }, spec };
    await stack.apply(manifest);
    await stack.reason(edges, 'it', 'Ready', 'AccessDenied');
    expect(JSON.stringify((await stack.see(edges, 'it')).object)).not.toContain('ip_restriction');
    await stack.remove(edges, 'it');
  }
  expect((await client.tlsEdges.get(id)).modules).toEqual(['ip_restriction']);
});

const object = (kind: string, spec: object, name = 'it') => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind,
  metadata: { name },
  spec,
});

test.for<
  [kind: string, plural: string, make: () => Promise<{ id: string }>, absent: string, specOf: (id: string) => object]
>([
  [
    'HTTPSEdgeRoute',
    'httpsedgeroutes',
    () => client.httpsEdges.create({}),
    'edghts_01jd0000000000000000000000',
    (id) => ({ edgeRef: { id }, match: '/', matchType: 'path_prefix' }),
  ],
  [
    'EndpointConfiguration',
    'endpointconfigurations',
    () => client.ipPolicies.create({}),
    ABSENT,
    (id) => ({ type: 'http', ipPolicyRefs: [{ id }] }),
  ],
  [
    'APIKey',
    'apikeys',
    () => client.botUsers.create({ name: 'theirs' }),
    'bot_01jd0000000000000000000000',
    (id) => ({ ownerRef: { id } }),
  ],
  [
    'TunnelCredential',
    'tunnelcredentials',
    () => client.botUsers.create({ name: 'theirs' }),
    'bot_01jd0000000000000000000000',
    (ownerId) => ({ ownerId }),
  ],
])('a reference by id in %s is refused, in the same words whether or not the resource exists', async (row) => {
  const [kind, plural, make, absent, specOf] = row;
  const { id } = await make();
  const before = await stack.remoteIds();
  const messages: (string | undefined)[] = [];
  for (const each of [id, absent]) {
    await stack.apply(object(kind, specOf(each)));
    const { ready } = await stack.reason(ours(plural), 'it', 'Ready', 'AccessDenied');
    messages.push(ready?.message);
    await stack.remove(ours(plural), 'it');
  }
  expect(messages[0]).toContain('--adopt-namespaces');
  expect(messages[1]).toBe(messages[0]);
  expect(await stack.remoteIds()).toEqual(before);
});

test('a key belongs to a bot, not to the user in whose name the operator works', async () => {
  const keys = ours('apikeys');
  const before = await stack.remoteIds();
  await stack.apply(object('APIKey', {}, 'robber'));
  const { ready } = await stack.reason(keys, 'robber', 'Ready', 'AccessDenied');
  expect(ready?.message).toContain('spec.ownerRef');
  expect(await stack.secret('robber')).toBeUndefined();
  expect(await stack.remoteIds()).toEqual(before);
  await stack.remove(keys, 'robber');

  await stack.apply(
    object('BotUser', { name: 'a bot' }, 'honest'),
    object('APIKey', { ownerRef: { name: 'honest' } }, 'honest'),
  );
  await stack.ready(keys, 'honest');
  expect(await stack.secret('honest')).toMatchObject({ token: expect.any(String) });
  await stack.remove(keys, 'honest');
  await stack.remove(ours('botusers'), 'honest');
});

test('a key of a user is refused wherever adoption is allowed, too, but with --allow-user-api-keys', async () => {
  const keys = ours('apikeys');
  const { id: ownerId } = await client.users.create({ name: 'a user' });
  await stack.apply(object('APIKey', { ownerId }, 'users'));
  await stack.restart(undefined, { adoptNamespaces: undefined });
  await stack.reason(keys, 'users', 'Ready', 'AccessDenied');
  await stack.restart(undefined, { adoptNamespaces: undefined, allowUserApiKeys: true });
  await stack.ready(keys, 'users');
  await stack.remove(keys, 'users');
  await client.users.delete(ownerId);
  await stack.restart();
});

test('what is refused elsewhere works in a namespace of the list', async () => {
  const [adopted, observed] = [await theirs(), await theirs()];
  await stack.apply(policy('adopted', { description: 'ours' }, { [`${GROUP}/adopt`]: adopted }));
  await stack.apply(policy('observed', { managementPolicy: 'Observe' }, { [`${GROUP}/adopt`]: observed }));
  for (const name of ['adopted', 'observed']) await stack.reason(POLICIES, name, 'Ready', 'AccessDenied');
  await stack.restart(undefined, { adoptNamespaces: ['elsewhere', stack.namespace] });
  expect((await stack.ready(POLICIES, 'adopted')).status.id).toBe(adopted);
  expect((await stack.ready(POLICIES, 'observed')).status.id).toBe(observed);
  expect(await client.ipPolicies.get(adopted)).toMatchObject({ description: 'ours' });
  expect(await client.ipPolicies.get(observed)).toMatchObject({ description: 'theirs' });
  await stack.remove(POLICIES, 'adopted', 'observed');
  await expect(client.ipPolicies.get(adopted)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await client.ipPolicies.get(observed)).toMatchObject({ description: 'theirs' });
  await stack.restart();
});

test('objects without these annotations work as ever, also once their annotations are lost', async () => {
  await stack.apply(policy('own', { description: 'mine' }));
  const { status } = await stack.ready(POLICIES, 'own');
  await stack.annotate(POLICIES, 'own', { [`${GROUP}/external-id`]: null, [`${GROUP}/create-generation`]: null });
  await stack.reconciled(POLICIES, 'own');
  expect((await stack.ready(POLICIES, 'own')).status.id).toBe(status.id);
  await stack.remove(POLICIES, 'own');
  expect(await stack.remoteIds()).not.toContain(status.id);
});

describe('an object restored with its annotations and its Secret, under a new UID and without its status', () => {
  const overlapping = (name: string, annotations = {}, secret = name) =>
    credential(name, { rotation: { overlap: '1h' }, secret: { name: secret } }, annotations);

  /** The ids that belong to it: its own, and the one that a rotation has superseded. */
  async function restored(name: string): Promise<string[]> {
    await stack.apply(overlapping(name));
    const first = await stack.ready(CREDENTIALS, name);
    await stack.annotate(CREDENTIALS, name, { [`${GROUP}/rotate-requested-at`]: 'now' });
    const { object: backup, status } = await eventually(async () => {
      const seen = await stack.ready(CREDENTIALS, name);
      expect(seen.status.id).not.toBe(first.status.id);
      return seen;
    });
    const { data, type, metadata } = await stack.kube.get(SECRETS, name, stack.namespace);
    const { labels, annotations } = metadata;
    await stack.restart(async () => {
      await stack.kube.patch(CREDENTIALS, name, { metadata: { finalizers: null } }, stack.namespace);
      await stack.remove(CREDENTIALS, name);
      await stack.run('delete', 'secret', name, '--ignore-not-found');
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, labels, annotations }, type, data };
      expect(await stack.tryApply(secret)).toMatchObject({ code: 0 });
      await stack.apply(overlapping(name, backup.metadata.annotations));
    });
    return [String(first.status.id), String(status.id)];
  }

  const denied = async (name: string) => {
    const { ready } = await stack.reason(CREDENTIALS, name, 'Ready', 'AccessDenied');
    return ready?.message ?? '';
  };

  test('keeps what it has once its namespace is permitted for the time being', async () => {
    const [, current] = await restored('backup');
    const before = await stack.remoteIds();
    expect(await denied('backup')).toContain(
      `to keep what its annotations name, as after a restore, have the operator started with --adopt-namespaces that include it until this object is Ready`,
    );
    await stack.restart(undefined, { adoptNamespaces: [stack.namespace] });
    expect((await stack.ready(CREDENTIALS, 'backup')).status.id).toBe(current);
    await stack.restart();
    await stack.reconciled(CREDENTIALS, 'backup');
    expect((await stack.ready(CREDENTIALS, 'backup')).status.id).toBe(current);
    expect((await stack.remoteIds()).sort()).toEqual(before.sort());
    await stack.remove(CREDENTIALS, 'backup');
  });

  test('gets another if its annotations are removed, and is never told to adopt', async () => {
    const old = await restored('anew');
    const message = await denied('anew');
    const named = [...message.matchAll(/tunnel-operator\.dev\/[a-z-]+/g)].map(([name]) => name);
    expect(named).toEqual([`${GROUP}/external-id`, `${GROUP}/retiring`]);
    await stack.annotate(CREDENTIALS, 'anew', Object.fromEntries(named.map((name) => [name, null])));
    const { ready } = await stack.reason(CREDENTIALS, 'anew', 'Ready', 'SecretConflict');
    expect(ready?.message).toBe(
      `Secret anew exists and holds the token of ${old[1]}, which may not be adopted from namespace ${stack.namespace}: set spec.secret.name to another name, or delete the Secret if nothing uses it`,
    );
    await stack.apply(overlapping('anew', {}, 'anew-other'));
    const { status } = await stack.ready(CREDENTIALS, 'anew');
    expect(old).not.toContain(status.id);
    expect(await stack.remoteIds()).toEqual(expect.arrayContaining([...old, status.id]));
  });
});
