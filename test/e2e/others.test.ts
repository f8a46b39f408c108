/** Interference: edits during a reconcile, lost finalizers, and an API that refuses requests or is down. */
import { describe, expect, test } from 'vitest';
import { blockPolicies } from './blockade.ts';
import { CREDENTIALS, credential, type Manifest, POLICIES, policy } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'others' });
const { client, namespace, kube, idOf } = stack;

const block = () => blockPolicies(stack.api.databaseUrl, 'exclusive');

const replace = async (manifest: Manifest) => {
  const { code, stderr } = await stack.replace(manifest);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
};

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

describe('a credential', () => {
  test('keeps its resource through kubectl replace, which removes annotations and finalizers', async () => {
    const name = 'replaced';
    await stack.apply(credential(name, { description: 'before' }));
    const id = await idOf(CREDENTIALS, name);
    const before = { ids: await stack.remoteIds(), secret: await stack.secret(name) };
    await replace(credential(name, { description: 'after' }));
    const { object } = await eventually(async () => {
      const seen = await stack.ready(CREDENTIALS, name);
      expect(seen.status).toMatchObject({ id, observedGeneration: 2 });
      return seen;
    });
    expect(object.metadata).toMatchObject({
      finalizers: ['tunnel-operator.dev/remote-resource'],
      annotations: { 'tunnel-operator.dev/external-id': id },
    });
    expect({ ids: await stack.remoteIds(), secret: await stack.secret(name) }).toEqual(before);
    expect(await client.credentials.get(id)).toMatchObject({ description: 'after' });
    await stack.remove(CREDENTIALS, name);
    expect(await stack.remoteIds()).not.toContain(id);
  });

  test.each([
    ['by hand', false],
    ['while no operator runs', true],
  ])('gets its finalizer back when it was removed %s', async (how, isDown) => {
    const name = `unbound-${how.replaceAll(' ', '-')}`;
    await stack.apply(credential(name));
    const id = await idOf(CREDENTIALS, name);
    const unbind = () => kube.patch(CREDENTIALS, name, { metadata: { finalizers: null } }, namespace);
    await (isDown ? stack.restart(unbind) : unbind());
    await eventually(async () => {
      const { finalizers } = (await stack.see(CREDENTIALS, name)).object.metadata;
      expect(finalizers).toEqual(['tunnel-operator.dev/remote-resource']);
    });
    await stack.remove(CREDENTIALS, name);
    expect(await stack.remoteIds()).not.toContain(id);
  });
});

describe('an API that', () => {
  test('refuses the key of the operator shows as AccessDenied until it accepts the key', async () => {
    await stack.restart(undefined, { apiKey: 'tnl_ak_not_a_key_of_anybody' });
    await stack.apply(policy('denied'));
    const { ready } = await stack.reason(POLICIES, 'denied', 'Ready', 'AccessDenied');
    expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining("the operator's API key") });
    expect(await stack.metric('tunnel_operator_api_requests_total', { code: '401' })).toBeGreaterThan(0);
    await stack.restart();
    await stack.ready(POLICIES, 'denied');
  });

  test('is at another URL than the operator has shows as such, and not as a refusal', async () => {
    await stack.apply(policy('misled'));
    const { id } = (await stack.ready(POLICIES, 'misled')).status;
    await stack.restart(undefined, { apiUrl: `${stack.api.url}/v1` });
    await stack.apply(policy('misled', { description: 'changed' }), policy('lost'));
    for (const name of ['misled', 'lost']) {
      const { synced } = await stack.reason(POLICIES, name, 'Synced', 'ApiUnavailable');
      expect(synced?.message).toContain('(TUNNEL_API_URL) answered 404, since it has no such path');
    }
    await stack.restart();
    expect((await stack.ready(POLICIES, 'misled')).status.id).toBe(id);
    await stack.ready(POLICIES, 'lost');
  });

  test('cannot be reached shows as ApiUnavailable; objects that were Ready stay Ready', async () => {
    await stack.apply(policy('reachable'));
    await stack.ready(POLICIES, 'reachable');
    await stack.restart(undefined, { apiUrl: 'http://127.0.0.1:9' });
    await stack.apply(policy('reachable', { description: 'changed' }), policy('unreachable'));
    const { synced, ready } = await stack.reason(POLICIES, 'reachable', 'Synced', 'ApiUnavailable');
    expect(synced).toMatchObject({
      status: 'False',
      message: expect.stringContaining('connection to 127.0.0.1:9 refused'),
    });
    expect(ready).toMatchObject({ status: 'True', observedGeneration: 1 });
    expect((await stack.reason(POLICIES, 'unreachable', 'Ready', 'ApiUnavailable')).ready).toMatchObject({
      status: 'False',
    });
    await stack.restart();
    expect((await stack.ready(POLICIES, 'reachable')).status).toMatchObject({ observedGeneration: 2 });
    await stack.ready(POLICIES, 'unreachable');
  });
});
