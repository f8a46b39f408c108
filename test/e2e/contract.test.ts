/** What every kind does for its objects, whatever the kind: identity, adoption, policies, pause. */
import { describe, expect, test } from 'vitest';
import { CREDENTIALS, credential, eventually, type Manifest, POLICIES, policy, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'contract' });
const { client, namespace } = stack;

const ID = 'tunnel-operator.dev/external-id';
const ADOPT = 'tunnel-operator.dev/adopt';
const PAUSED = 'tunnel-operator.dev/paused';

const token = async (name: string) => (await stack.secret(name))?.token ?? '';
const typeOf = ({ kind }: Manifest) => (kind === 'IPPolicy' ? POLICIES : CREDENTIALS);

/** One that is ready, with its id. */
async function made(manifest: Manifest) {
  await stack.apply(manifest);
  const seen = await stack.ready(typeOf(manifest), manifest.metadata.name);
  return { ...seen, id: String(seen.status.id) };
}

const reasons = async (name: string) => (await stack.events(name)).map(({ reason }) => reason);

/** The two kinds, made from a description. */
const kinds = [
  ['IPPolicy', POLICIES, policy, client.ipPolicies],
  ['TunnelCredential', CREDENTIALS, credential, client.credentials],
] as const;

describe.each(kinds)('%s', (kind, type, make, family) => {
  const named = (what: string) => `${kind.toLowerCase()}-${what}`;

  describe('identity', () => {
    test('is in an annotation and in the status, with the observed generation', async () => {
      const { id, object, status, ready, synced } = await made(make(named('id'), { description: 'a' }));
      expect(object.metadata.annotations?.[ID]).toBe(id);
      const remote = await family.get(id);
      expect(status).toMatchObject({ id, uri: remote.uri, observedGeneration: 1 });
      expect(ready).toMatchObject({ status: 'True', reason: 'Available', observedGeneration: 1 });
      expect(synced).toMatchObject({ status: 'True', reason: 'UpToDate', observedGeneration: 1 });
    });

    test('survives the loss of the whole status', async () => {
      const { id, status } = await made(make(named('wiped'), { description: 'a' }));
      const before = await stack.remoteIds();
      await stack.kube.patch(type, named('wiped'), { status: null }, namespace, 'status');
      const after = await eventually(async () => {
        const seen = await stack.ready(type, named('wiped'));
        expect(seen.status.id).toBe(id);
        return seen.status;
      });
      expect(Object.keys(after).sort()).toEqual(Object.keys(status).sort());
      expect(await stack.remoteIds()).toEqual(before);
    });

    test('survives a re-creation of the object with its annotations, as after a restore from a backup', async () => {
      const name = named('restored');
      const { id, object } = await made(make(name, { description: 'a' }));
      const before = await stack.remoteIds();
      await stack.restart(async () => {
        // The cluster is gone, and nobody told the operator: no deletion was seen.
        await stack.kube.patch(type, name, { metadata: { finalizers: null } }, namespace);
        await stack.kube.delete(type, name, namespace);
        await stack.apply(make(name, { description: 'a' }, object.metadata.annotations));
      });
      const after = await stack.ready(type, name);
      expect(after.object.metadata.uid).not.toBe(object.metadata.uid);
      if (type === POLICIES) {
        expect(after.status.id).toBe(id);
        expect(await stack.remoteIds()).toEqual(before);
      } else {
        // Its Secret may have been collected with the old object; then the token is issued anew.
        expect(await stack.accepts(await token(name))).toBe(true);
        await eventually(async () => expect(await stack.remoteIds()).toHaveLength(before.length));
      }
    });

    test('is not tied to the name: an object that is deleted and re-created gets another resource', async () => {
      const name = named('again');
      const { id } = await made(make(name));
      await stack.remove(type, name);
      expect(await stack.remoteIds()).not.toContain(id);
      expect((await made(make(name))).id).not.toBe(id);
    });
  });

  describe('adoption', () => {
    test('adopts an existing resource and makes it match the spec', async () => {
      const name = named('adopted');
      const { id } = await family.create({ description: 'made by hand', metadata: 'kept?' });
      const before = await stack.remoteIds();
      await stack.apply(make(name, { description: 'declared' }, { [ADOPT]: id }));
      await eventually(async () => expect((await stack.see(type, name)).status.id).toBe(id));
      expect(await family.get(id)).toMatchObject({ id, description: 'declared', metadata: null });
      expect((await stack.see(type, name)).object.metadata.annotations?.[ID]).toBe(id);
      expect(await stack.remoteIds()).toEqual(before);
      await eventually(async () => expect(await reasons(name)).toContain('Adopted'));
      await stack.remove(type, name);
      expect(await stack.remoteIds()).not.toContain(id);
    });

    test.each([
      ['does not exist', 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd'],
      ['is none', 'not an id'],
    ])('of an id that %s creates nothing and says so', async (what, wrong) => {
      const name = named(`adopt-${what.replaceAll(' ', '-')}`);
      const before = await stack.remoteIds();
      await stack.apply(make(name, {}, { [ADOPT]: wrong.replace('ipp', type === POLICIES ? 'ipp' : 'cr') }));
      const { ready } = await stack.reason(type, name, 'Ready', 'ExternalNotFound');
      expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining(ADOPT) });
      expect(await stack.remoteIds()).toEqual(before);
      await stack.remove(type, name);
    });

    test('of an id that does not exist recovers when the annotation is corrected', async () => {
      const name = named('corrected');
      await stack.apply(
        make(
          name,
          {},
          { [ADOPT]: type === POLICIES ? 'ipp_01k9zq3v5hf8svx2r4c6y7n0wd' : 'cr_01k9zq3v5hf8svx2r4c6y7n0wd' },
        ),
      );
      await stack.reason(type, name, 'Ready', 'ExternalNotFound');
      const { id } = await family.create({});
      await stack.run('annotate', type.plural, name, `${ADOPT}=${id}`, '--overwrite');
      await eventually(async () => expect((await stack.see(type, name)).status.id).toBe(id));
    });
  });

  describe('deletionPolicy Retain', () => {
    test('keeps the resource, which another object may adopt', async () => {
      const name = named('retained');
      const { id } = await made(make(name, { description: 'kept', deletionPolicy: 'Retain' }));
      await stack.remove(type, name);
      expect(await family.get(id)).toMatchObject({ description: 'kept' });
      await eventually(async () => expect(await reasons(name)).toContain('Retained'));
      await stack.apply(make(name, { description: 'kept' }, { [ADOPT]: id }));
      const { status } = await stack.ready(type, name);
      expect(status.id).toBe(id);
    });

    test('is read at the time of the deletion', async () => {
      const name = named('reconsidered');
      const { id } = await made(make(name, { deletionPolicy: 'Retain' }));
      await stack.apply(make(name, { deletionPolicy: 'Delete' }));
      await stack.remove(type, name);
      expect(await stack.remoteIds()).not.toContain(id);
    });
  });

  describe('managementPolicy Observe', () => {
    test('shows the resource and the differences, and writes nothing to it, not even on deletion', async () => {
      const name = named('observed');
      const { id } = await family.create({ description: 'theirs' });
      const before = await stack.sql('select count(*) as n from events');
      await stack.apply(make(name, { description: 'ours', managementPolicy: 'Observe' }, { [ADOPT]: id }));
      const { status, ready } = await stack.ready(type, name);
      expect(status).toMatchObject({ id, uri: (await family.get(id)).uri });
      expect(ready).toMatchObject({ reason: 'Available' });
      const { synced, object } = await stack.see(type, name);
      expect(synced).toMatchObject({
        status: 'True',
        reason: 'Observed',
        message: 'Only observed; differs in spec.description',
      });
      expect(object.metadata.finalizers).toBeUndefined();
      await stack.apply(make(name, { description: 'ours again', managementPolicy: 'Observe' }, { [ADOPT]: id }));
      expect((await stack.ready(type, name)).status.observedGeneration).toBe(2);
      expect(await stack.secret(name)).toBeUndefined();
      await stack.remove(type, name);
      expect(await family.get(id)).toMatchObject({ description: 'theirs' });
      expect(await stack.sql('select count(*) as n from events')).toEqual(before);
    });

    test('needs something to observe', async () => {
      const name = named('unobserved');
      const before = await stack.remoteIds();
      await stack.apply(make(name, { managementPolicy: 'Observe' }));
      const { ready } = await stack.reason(type, name, 'Ready', 'NothingToObserve');
      expect(ready?.message).toContain(ADOPT);
      expect(await stack.remoteIds()).toEqual(before);
    });

    test('can be switched back and forth', async () => {
      const name = named('to-and-fro');
      const { id } = await made(make(name, { description: 'a' }));
      await stack.apply(make(name, { description: 'b', managementPolicy: 'Observe' }));
      await stack.reason(type, name, 'Synced', 'Observed');
      expect(await family.get(id)).toMatchObject({ description: 'a' });
      await stack.apply(make(name, { description: 'b' }));
      expect((await stack.ready(type, name)).status.id).toBe(id);
      expect(await family.get(id)).toMatchObject({ description: 'b' });
    });

    test('becomes an adoption when it changes to Manage', async () => {
      const name = named('taken-on');
      const { id } = await family.create({ description: 'theirs' });
      await stack.apply(make(name, { description: 'ours', managementPolicy: 'Observe' }, { [ADOPT]: id }));
      await stack.reason(type, name, 'Synced', 'Observed');
      await stack.apply(make(name, { description: 'ours' }, { [ADOPT]: id }));
      await eventually(async () => expect(await family.get(id)).toMatchObject({ description: 'ours' }));
      expect((await stack.see(type, name)).object.metadata.annotations?.[ID]).toBe(id);
    });

    test('that was managed before is left alone when it is deleted', async () => {
      const name = named('let-be');
      const { id } = await made(make(name, {}));
      await stack.apply(make(name, { managementPolicy: 'Observe' }));
      await stack.reason(type, name, 'Synced', 'Observed');
      await stack.remove(type, name);
      expect(await family.get(id)).toMatchObject({ id });
    });
  });

  describe('the annotation paused', () => {
    test('stops all work, even a deletion, until it is removed', async () => {
      const name = named('paused');
      const { id } = await made(make(name, { description: 'a' }));
      await stack.run('annotate', type.plural, name, `${PAUSED}=true`);
      await stack.reason(type, name, 'Synced', 'Paused');
      await stack.apply(make(name, { description: 'b' }, { [PAUSED]: 'true' }));
      await stack.run('delete', type.plural, name, '--wait=false');
      // A reconcile of another object, asked for later, has been done: this one would have been, too.
      await stack.reconciled(POLICIES, 'witness');
      expect(await family.get(id)).toMatchObject({ description: 'a' });
      expect((await stack.see(type, name)).ready).toMatchObject({ status: 'True' });
      await stack.run('annotate', type.plural, name, `${PAUSED}-`);
      await eventually(async () => expect(await stack.find(type, name)).toBeUndefined());
      expect(await stack.remoteIds()).not.toContain(id);
    });

    test('from the start keeps anything from being created', async () => {
      const name = named('dormant');
      const before = await stack.remoteIds();
      await stack.apply(make(name, {}, { [PAUSED]: 'yes' }));
      const { synced } = await stack.reason(type, name, 'Synced', 'Paused');
      expect(synced?.message).toMatch(/remove it or set it to "false"/);
      expect(await stack.remoteIds()).toEqual(before);
      await stack.run('annotate', type.plural, name, `${PAUSED}=false`, '--overwrite');
      await stack.ready(type, name);
    });
  });

  test('echoes reconcile-requested-at', async () => {
    const name = named('asked');
    await made(make(name));
    await stack.run('annotate', type.plural, name, 'tunnel-operator.dev/reconcile-requested-at=now');
    await eventually(async () => expect((await stack.see(type, name)).status.lastHandledReconcileAt).toBe('now'));
  });

  describe('two objects that claim one id', () => {
    const claimants = async (what: string) => {
      const [older, younger] = [named(`${what}-older`), named(`${what}-younger`)];
      const { id } = await made(make(older, { description: 'older', deletionPolicy: 'Retain' }));
      const { metadata } = (await stack.see(type, older)).object;
      // Ages count in whole seconds.
      await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(metadata.creationTimestamp) + 1_000));
      await stack.apply(make(younger, { description: 'younger' }, { [ADOPT]: id }));
      const { ready } = await stack.reason(type, younger, 'Ready', 'ManagementConflict');
      expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining(`${namespace}/${older}`) });
      return { id, older, younger };
    };

    test('are served by age; the younger takes over when the older gives up its claim', async () => {
      const { id, older, younger } = await claimants('heir');
      expect(await family.get(id)).toMatchObject({ description: 'older' });
      await stack.remove(type, older);
      await eventually(async () => expect((await stack.see(type, younger)).status.id).toBe(id));
      await eventually(async () => expect(await family.get(id)).toMatchObject({ description: 'younger' }));
    });

    test('created in the same second are ordered, whichever the operator sees first', async () => {
      const { id } = await family.create({ description: 'wanted' });
      const names = ['a', 'b', 'c', 'd'].map((letter) => named(`twin-${letter}`));
      await stack.apply(...names.map((name) => make(name, { description: 'mine' }, { [ADOPT]: id })));
      await eventually(async () => {
        const seen = await Promise.all(names.map((name) => stack.see(type, name)));
        const found = seen.map(({ ready }) => ready?.reason).sort();
        expect(found).not.toContain(undefined);
        expect(found.filter((reason) => reason !== 'ManagementConflict')).toHaveLength(1);
      });
    });

    test('leave it alone when the younger is deleted', async () => {
      const { id, younger } = await claimants('loser');
      await stack.remove(type, younger);
      expect(await family.get(id)).toMatchObject({ description: 'older' });
    });
  });
});

// Applied first, so that tests can wait for a later reconcile than one that must not happen.
await stack.apply(policy('witness'));
