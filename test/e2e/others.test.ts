/** Interference with the same objects: people, finalizers, an API that rejects. */
import { describe, expect, test } from 'vitest';
import { GROUP } from '../../src/operator/contract/names.ts';
import type { ResourceType } from '../../src/operator/kube/kube-api.ts';
import { blockPolicies } from './blockade.ts';
import {
  CREDENTIALS,
  credential,
  eventually,
  type Manifest,
  manifest,
  ours,
  POLICIES,
  policy,
  startStack,
} from './stack.ts';

const stack = await startStack({ prefix: 'others' });
const { client, namespace, kube } = stack;

const block = () => blockPolicies(stack.api.databaseUrl, 'exclusive');

const replace = async (manifest: Manifest) => {
  const { code, stderr } = await stack.replace(manifest);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
};
const idOf = async (type: ResourceType, name: string) => String((await stack.ready(type, name)).status.id);
const unbound = (type: ResourceType, name: string) =>
  kube.patch(type, name, { metadata: { finalizers: null } }, namespace);
const bound = (type: ResourceType, name: string) =>
  eventually(async () => {
    const { finalizers } = (await stack.see(type, name)).object.metadata;
    expect(finalizers).toEqual(['tunnel-operator.dev/remote-resource']);
  });

test('an object that has lost everything, and has failed since, leaves behind what it is to retain', async () => {
  const type = ours('httpresponsebackends');
  const text = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'needed' }, data: { text: 'here' } };
  const spec = { body: { configMapKeyRef: { name: 'needed', key: 'text' } }, deletionPolicy: 'Retain' };
  await stack.apply(text, manifest({ name: 'HTTPResponseBackend' }, 'keeper', spec));
  const id = await idOf(type, 'keeper');
  const recorded = ['external-id', 'create-generation', 'create-key'].map((name) => [`${GROUP}/${name}`, null]);
  await stack.annotate(type, 'keeper', { [`${GROUP}/paused`]: 'true' });
  await stack.reason(type, 'keeper', 'Synced', 'Paused');
  await stack.annotate(type, 'keeper', Object.fromEntries(recorded));
  const { status } = await stack.see(type, 'keeper');
  const nothing = Object.fromEntries(Object.keys(status).map((member) => [member, null]));
  await kube.patch(type, 'keeper', { status: nothing }, namespace, 'status');
  await stack.run('delete', 'configmap', 'needed');
  await stack.annotate(type, 'keeper', { [`${GROUP}/paused`]: null });
  await stack.reason(type, 'keeper', 'Ready', 'SourceNotFound');
  await stack.remove(type, 'keeper');
  expect(await client.httpResponseBackends.get(id)).toMatchObject({ id });
  await client.httpResponseBackends.delete(id);
});

test('an object that lost its finalizer gets it back although its spec names what is not there', async () => {
  const type = ours('httpresponsebackends');
  await stack.apply(manifest({ name: 'HTTPResponseBackend' }, 'unresolved', { body: { value: 'here' } }));
  const id = await idOf(type, 'unresolved');
  const missing = { body: { configMapKeyRef: { name: 'missing', key: 'text' } } };
  await stack.apply(manifest({ name: 'HTTPResponseBackend' }, 'unresolved', missing));
  await stack.reason(type, 'unresolved', 'Ready', 'SourceNotFound');
  await unbound(type, 'unresolved');
  await bound(type, 'unresolved');
  await stack.remove(type, 'unresolved');
  expect(await stack.remoteIds()).not.toContain(id);
});

describe('an object that changes during a reconcile', () => {
  test('ends up as last declared', async () => {
    await stack.apply(policy('hurried', { description: '1' }));
    const id = await idOf(POLICIES, 'hurried');
    const blockade = await block();
    await stack.apply(policy('hurried', { description: '2' }));
    await blockade.waiting();
    await stack.apply(policy('hurried', { description: '3' }));
    await blockade.release();
    expect((await stack.ready(POLICIES, 'hurried')).status).toMatchObject({ id, observedGeneration: 3 });
    expect(await client.ipPolicies.get(id)).toMatchObject({ description: '3' });
  });

  test('ends up as last declared, even if it was being created', async () => {
    const blockade = await block();
    await stack.apply(policy('born', { description: '1' }));
    await blockade.waiting();
    await stack.apply(policy('born', { description: '2', rules: [{ cidr: '10.0.0.0/8', action: 'deny' }] }));
    await blockade.release();
    const id = await eventually(async () => {
      const { status } = await stack.ready(POLICIES, 'born');
      expect(status).toMatchObject({ observedGeneration: 2, rules: 1 });
      return String(status.id);
    });
    expect(await client.ipPolicies.get(id)).toMatchObject({ description: '2' });
  });

  test('leaves nothing behind when it is deleted while it is being created', async () => {
    const before = await stack.remoteIds();
    const blockade = await block();
    await stack.apply(policy('unborn'));
    await blockade.waiting();
    await stack.run('delete', 'ipp', 'unborn', '--wait=false');
    await blockade.release();
    await eventually(async () => expect(await stack.find(POLICIES, 'unborn')).toBeUndefined());
    expect(await stack.remoteIds()).toEqual(before);
  });
});

describe.each([
  ['IPPolicy', POLICIES, policy],
  ['TunnelCredential', CREDENTIALS, credential],
] as const)('%s', (kind, type, make) => {
  const named = (what: string) => `${kind.toLowerCase()}-${what}`;

  test('keeps its resource through kubectl replace, which removes annotations and finalizers', async () => {
    const name = named('replaced');
    await stack.apply(make(name, { description: 'before' }));
    const id = await idOf(type, name);
    const before = { ids: await stack.remoteIds(), secret: await stack.secret(name) };
    await replace(make(name, { description: 'after' }));
    const { object } = await eventually(async () => {
      const seen = await stack.ready(type, name);
      expect(seen.status).toMatchObject({ id, observedGeneration: 2 });
      return seen;
    });
    expect(object.metadata).toMatchObject({
      finalizers: ['tunnel-operator.dev/remote-resource'],
      annotations: { 'tunnel-operator.dev/external-id': id },
    });
    expect({ ids: await stack.remoteIds(), secret: await stack.secret(name) }).toEqual(before);
    const family = type === POLICIES ? client.ipPolicies : client.credentials;
    expect(await family.get(id)).toMatchObject({ description: 'after' });
    await stack.remove(type, name);
    expect(await stack.remoteIds()).not.toContain(id);
  });

  test('that is held by another finalizer gives up its resource, and no other is created', async () => {
    const name = named('held');
    const manifest = make(name);
    await stack.apply({ ...manifest, metadata: { ...manifest.metadata, finalizers: ['example.com/hold'] } });
    const id = await idOf(type, name);
    await stack.run('delete', type.plural, name, '--wait=false');
    await eventually(async () => expect(await stack.remoteIds()).not.toContain(id));
    await eventually(async () => {
      expect((await stack.see(type, name)).object.metadata.finalizers).toEqual(['example.com/hold']);
    });
    const before = await stack.remoteIds();
    await stack.annotate(type, name, { note: 'changed' });
    await stack.apply(make(named('witness')));
    await stack.ready(type, named('witness'));
    expect(await stack.remoteIds()).toHaveLength(before.length + 1);
    await kube.patch(type, name, { metadata: { finalizers: null } }, namespace);
    await eventually(async () => expect(await stack.find(type, name)).toBeUndefined());
  });

  test.each([
    ['to a manual edit', false],
    ['while nobody leads', true],
  ])('that lost its finalizer %s gets it back in time', async (how, isDown) => {
    const name = named(`unbound-${how.replaceAll(' ', '-')}`);
    await stack.apply(make(name));
    const id = await idOf(type, name);
    const unbind = () => unbound(type, name);
    await (isDown ? stack.restart(unbind) : unbind());
    await bound(type, name);
    await stack.remove(type, name);
    expect(await stack.remoteIds()).not.toContain(id);
  });

  test('may have the longest name that Kubernetes allows, with Events', async () => {
    // Events have the name of their object in theirs, cut off: here, at a hyphen.
    const name = `${named('x').padEnd(199, 'x')}-${'y'.repeat(53)}`;
    await stack.apply(make(name));
    await idOf(type, name);
    await eventually(async () => expect(await stack.events(name)).toMatchObject([{ reason: 'Created' }]));
    await stack.remove(type, name);
  });
});

test('a credential keeps its token through kubectl replace after a rotation, too', async () => {
  await stack.apply(credential('rotated', { rotation: { overlap: '0s' } }));
  const first = await idOf(CREDENTIALS, 'rotated');
  await stack.run('annotate', 'tcred', 'rotated', 'tunnel-operator.dev/rotate-requested-at=now');
  const second = await eventually(async () => {
    const id = await idOf(CREDENTIALS, 'rotated');
    expect(id).not.toBe(first);
    return id;
  });
  await eventually(async () => expect(await stack.remoteIds()).not.toContain(first));
  const before = { ids: await stack.remoteIds(), secret: await stack.secret('rotated') };
  await replace(credential('rotated', { description: 'replaced', rotation: { overlap: '0s' } }));
  await eventually(async () => {
    expect((await stack.ready(CREDENTIALS, 'rotated')).status).toMatchObject({ id: second, observedGeneration: 2 });
    expect({ ids: await stack.remoteIds(), secret: await stack.secret('rotated') }).toEqual(before);
  });
  expect(await stack.accepts(before.secret?.token)).toBe(true);
});

test('a rotation in progress continues through kubectl replace, and does not start over', async () => {
  const spec = { rotation: { overlap: '1h' } };
  await stack.apply(credential('overlapping', spec));
  const first = await idOf(CREDENTIALS, 'overlapping');
  const asked = { 'tunnel-operator.dev/rotate-requested-at': 'now' };
  await stack.apply(credential('overlapping', spec, asked));
  const second = await eventually(async () => {
    const id = await idOf(CREDENTIALS, 'overlapping');
    expect(id).not.toBe(first);
    return id;
  });
  const before = { ids: await stack.remoteIds(), secret: await stack.secret('overlapping') };
  // Beside ours there is what kubectl apply keeps for itself. The next create has a number and a key of its own.
  const ours = async () =>
    Object.entries((await stack.see(CREDENTIALS, 'overlapping')).object.metadata.annotations ?? {})
      .filter(([name]) => /^tunnel-operator\.dev\/(?!create-)/.test(name))
      .sort();
  const annotations = await ours();
  await replace(credential('overlapping', spec, asked));
  await eventually(async () => expect(await ours()).toEqual(annotations));
  expect((await stack.reconciled(CREDENTIALS, 'overlapping')).status.id).toBe(second);
  expect({ ids: await stack.remoteIds(), secret: await stack.secret('overlapping') }).toEqual(before);
  await stack.remove(CREDENTIALS, 'overlapping');
  const left = await stack.remoteIds();
  expect([left.includes(first), left.includes(second)]).toEqual([false, false]);
});

test.each([
  ['still says so', true],
  ['does not say so any more', false],
])('an adopted resource stays adopted through kubectl replace of a manifest that %s', async (_, says) => {
  const { id } = await client.ipPolicies.create({});
  const adopt: Record<string, string> = { 'tunnel-operator.dev/adopt': id };
  const name = `adopted-${says}`;
  await stack.apply(policy(name, {}, adopt));
  await eventually(async () => expect((await stack.see(POLICIES, name)).status.id).toBe(id));
  const before = await stack.remoteIds();
  await replace(policy(name, { description: 'replaced' }, says ? adopt : {}));
  await eventually(async () => {
    expect((await stack.ready(POLICIES, name)).status).toMatchObject({ id, observedGeneration: 2 });
  });
  expect(await stack.remoteIds()).toEqual(before);
});

test('an object replaced during its deletion still has its resource deleted', async () => {
  await stack.apply(policy('both'));
  const id = await idOf(POLICIES, 'both');
  const blockade = await block();
  await stack.run('delete', 'ipp', 'both', '--wait=false');
  await blockade.waiting();
  const taken = { 'tunnel-operator.dev/external-id': null, 'tunnel-operator.dev/create-generation': null };
  await stack.annotate(POLICIES, 'both', taken);
  await blockade.release();
  await eventually(async () => expect(await stack.find(POLICIES, 'both')).toBeUndefined());
  expect(await stack.remoteIds()).not.toContain(id);
});

test('many objects that are applied and deleted at once leave nothing behind', async () => {
  const before = await stack.remoteIds();
  const names = Array.from({ length: 20 }, (_, n) => `many-${n}`);
  await stack.apply(
    ...names.flatMap((name) => [policy(name, { rules: [{ cidr: '10.0.0.0/8', action: 'deny' }] }), credential(name)]),
  );
  for (const name of names) {
    await stack.ready(POLICIES, name);
    await stack.ready(CREDENTIALS, name);
  }
  expect(await stack.remoteIds()).toHaveLength(before.length + 40);
  await Promise.all([stack.remove(POLICIES, ...names), stack.remove(CREDENTIALS, ...names)]);
  expect((await stack.remoteIds()).sort()).toEqual(before.sort());
});

describe('an API that', () => {
  test('does not accept the key of the operator shows as AccessDenied, and heals', async () => {
    await stack.restart(undefined, { apiKey: 'tnl_ak_not_a_key_of_anybody' });
    await stack.apply(policy('denied'));
    const { ready } = await stack.reason(POLICIES, 'denied', 'Ready', 'AccessDenied');
    expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining("the operator's API key") });
    expect(await stack.metric('tunnel_operator_api_requests_total', { code: '401' })).toBeGreaterThan(0);
    await stack.restart();
    await stack.ready(POLICIES, 'denied');
  });

  test('cannot be reached shows as ApiUnavailable; what was ready stays so', async () => {
    await stack.apply(policy('reachable'));
    await stack.ready(POLICIES, 'reachable');
    await stack.restart(undefined, { apiUrl: 'http://127.0.0.1:9' });
    await stack.apply(policy('reachable', { description: 'changed' }), policy('unreachable'));
    const { synced, ready } = await stack.reason(POLICIES, 'reachable', 'Synced', 'ApiUnavailable');
    expect(synced).toMatchObject({ status: 'False', message: expect.not.stringContaining('127.0.0.1') });
    expect(ready).toMatchObject({ status: 'True', observedGeneration: 1 });
    expect((await stack.reason(POLICIES, 'unreachable', 'Ready', 'ApiUnavailable')).ready).toMatchObject({
      status: 'False',
    });
    await stack.restart();
    expect((await stack.ready(POLICIES, 'reachable')).status).toMatchObject({ observedGeneration: 2 });
    await stack.ready(POLICIES, 'unreachable');
  });
});
