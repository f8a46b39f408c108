/** The reconcile that all kinds share, beyond what every-kind.test.ts covers for each kind. */
import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { POLICIES, policy } from './manifest.ts';
import { eventually, startStack } from './stack.ts';
import { patchStatus } from './status.ts';

const stack = await startStack({ prefix: 'contract' });
const { client, namespace } = stack;
const { ipPolicies } = client;

const ABSENT = 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd';
const observe = { managementPolicy: 'Observe' };
const adopting = (id: string) => ({ [ANNOTATION.adopt]: id });

/** Creates a policy and waits until it is ready; returns it with its id. */
async function made(name: string, spec: object = {}) {
  await stack.apply(policy(name, spec));
  const seen = await stack.ready(POLICIES, name);
  return { ...seen, id: String(seen.status.id) };
}

describe('the identity of an object', () => {
  test('survives the loss of the whole status', async () => {
    const { id, status } = await made('wiped');
    await patchStatus(stack, 'ippolicy', 'wiped', null);
    const after = await eventually(async () => (await stack.ready(POLICIES, 'wiped')).status);
    expect(after.id).toBe(id);
    expect(Object.keys(after).sort()).toEqual(Object.keys(status).sort());
  });

  test('survives when the object is recreated with its annotations, as after a restore from a backup', async () => {
    const { id, object } = await made('restored');
    const before = await stack.remoteIds();
    await stack.restart(async () => {
      await stack.kube.patch(POLICIES, 'restored', { metadata: { finalizers: null } }, namespace);
      await stack.kube.delete(POLICIES, 'restored', namespace);
      await stack.apply(policy('restored', {}, object.metadata.annotations));
    });
    const after = await stack.ready(POLICIES, 'restored');
    expect(after.object.metadata.uid).not.toBe(object.metadata.uid);
    expect(after.status.id).toBe(id);
    expect(await stack.remoteIds()).toEqual(before);
  });

  test('is not tied to the name: an object that is deleted and recreated gets a new resource', async () => {
    const { id } = await made('again');
    await stack.remove(POLICIES, 'again');
    expect(await stack.remoteIds()).not.toContain(id);
    expect((await made('again')).id).not.toBe(id);
  });
});

test('an id that does not exist is not adopted; nothing is created until the annotation is corrected', async () => {
  const before = await stack.remoteIds();
  await stack.apply(policy('corrected', {}, adopting(ABSENT)));
  const { ready } = await stack.reason(POLICIES, 'corrected', 'Ready', 'ExternalNotFound');
  expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining(ANNOTATION.adopt) });
  expect(await stack.remoteIds()).toEqual(before);
  const { id } = await ipPolicies.create({});
  await stack.run('annotate', 'ipp', 'corrected', `${ANNOTATION.adopt}=${id}`, '--overwrite');
  await eventually(async () => expect((await stack.see(POLICIES, 'corrected')).status.id).toBe(id));
  await eventually(async () =>
    expect(await stack.events('corrected')).toContainEqual(expect.objectContaining({ reason: 'Adopted' })),
  );
});

describe('managementPolicy Observe', () => {
  test('needs something to observe', async () => {
    const before = await stack.remoteIds();
    await stack.apply(policy('unobserved', observe));
    const { ready } = await stack.reason(POLICIES, 'unobserved', 'Ready', 'NothingToObserve');
    expect(ready?.message).toContain(ANNOTATION.adopt);
    expect(await stack.remoteIds()).toEqual(before);
  });

  test('can be switched back and forth, and keeps the resource when the object is deleted', async () => {
    const { id } = await made('to-and-fro', { description: 'a' });
    await stack.apply(policy('to-and-fro', { description: 'b', ...observe }));
    const { synced } = await stack.reason(POLICIES, 'to-and-fro', 'Synced', 'Observed');
    expect(synced?.message).toBe('Only observed; differs in spec.description');
    expect(await ipPolicies.get(id)).toMatchObject({ description: 'a' });
    await stack.apply(policy('to-and-fro', { description: 'b' }));
    expect((await stack.ready(POLICIES, 'to-and-fro')).status.id).toBe(id);
    expect(await ipPolicies.get(id)).toMatchObject({ description: 'b' });
    await stack.apply(policy('to-and-fro', observe));
    await stack.reason(POLICIES, 'to-and-fro', 'Synced', 'Observed');
    await stack.remove(POLICIES, 'to-and-fro');
    expect(await ipPolicies.get(id)).toMatchObject({ id, description: 'b' });
  });
});

describe('the annotation paused', () => {
  test('stops all work, even a deletion, until it is removed', async () => {
    const { id } = await made('paused', { description: 'a' });
    await stack.run('annotate', 'ipp', 'paused', `${ANNOTATION.paused}=true`);
    await stack.reason(POLICIES, 'paused', 'Synced', 'Paused');
    await stack.apply(policy('paused', { description: 'b' }, { [ANNOTATION.paused]: 'true' }));
    await stack.run('delete', 'ipp', 'paused', '--wait=false');
    // A later reconcile of another object is done, so one of this object would have been done before it.
    await stack.reconciled(POLICIES, 'witness');
    expect(await ipPolicies.get(id)).toMatchObject({ description: 'a' });
    expect((await stack.see(POLICIES, 'paused')).ready).toMatchObject({ status: 'Unknown', reason: 'Paused' });
    await stack.run('annotate', 'ipp', 'paused', `${ANNOTATION.paused}-`);
    await eventually(async () => expect(await stack.find(POLICIES, 'paused')).toBeUndefined());
    expect(await stack.remoteIds()).not.toContain(id);
  });

  test('prevents creation if the object has it from the start', async () => {
    const before = await stack.remoteIds();
    await stack.apply(policy('dormant', {}, { [ANNOTATION.paused]: 'yes' }));
    const { synced } = await stack.reason(POLICIES, 'dormant', 'Synced', 'Paused');
    expect(synced?.message).toMatch(/remove it or set it to "false"/);
    expect(await stack.remoteIds()).toEqual(before);
    await stack.run('annotate', 'ipp', 'dormant', `${ANNOTATION.paused}=false`, '--overwrite');
    await stack.ready(POLICIES, 'dormant');
  });
});

describe('when several objects claim one id,', () => {
  test('the younger waits and takes over when the older is deleted', async () => {
    const { id, object } = await made('older', { description: 'older', deletionPolicy: 'Retain' });
    // Creation timestamps are in whole seconds.
    const created = Date.parse(object.metadata.creationTimestamp);
    await eventually(() => expect(Date.now()).toBeGreaterThan(created + 1_000));
    await stack.apply(policy('younger', { description: 'younger' }, adopting(id)));
    const { ready } = await stack.reason(POLICIES, 'younger', 'Ready', 'ManagementConflict');
    expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining(`${namespace}/older`) });
    expect(await ipPolicies.get(id)).toMatchObject({ description: 'older' });
    await stack.remove(POLICIES, 'older');
    await eventually(async () => expect((await stack.see(POLICIES, 'younger')).status.id).toBe(id));
    await eventually(async () => expect(await ipPolicies.get(id)).toMatchObject({ description: 'younger' }));
  });

  test('only one gets it, even if all are created in the same second', async () => {
    const { id } = await ipPolicies.create({ description: 'wanted' });
    const names = ['a', 'b', 'c', 'd'].map((letter) => `twin-${letter}`);
    await stack.apply(...names.map((name) => policy(name, { description: 'mine' }, adopting(id))));
    await eventually(async () => {
      const seen = await Promise.all(names.map((name) => stack.see(POLICIES, name)));
      const found = seen.map(({ ready }) => ready?.reason).sort();
      expect(found).toEqual(['Available', ...Array(3).fill('ManagementConflict')]);
    });
  });
});

// Applied before the tests run, so that they can wait for a reconcile that comes after one that must not happen.
await stack.apply(policy('witness'));
