/** What becomes of a credential's token: adopted, retained, superseded, restored. */
import { describe, expect, test } from 'vitest';
import { CREDENTIALS, credential, eventually, type Manifest, SECRETS, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'credential-token' });
const { client, namespace } = stack;

const ADOPT = 'tunnel-operator.dev/adopt';
const ROTATE = 'tunnel-operator.dev/rotate-requested-at';

const token = async (name: string) => (await stack.secret(name))?.token ?? '';

/** One that is ready, with its id. */
async function made(manifest: Manifest) {
  await stack.apply(manifest);
  const seen = await stack.ready(CREDENTIALS, manifest.metadata.name);
  return { ...seen, id: String(seen.status.id) };
}

describe('the token of a credential', () => {
  test('that was adopted without one is unavailable until it is rotated', async () => {
    const { id, token: theirs } = await client.credentials.create({});
    await stack.apply(credential('tokenless', { rotation: { overlap: '0s' } }, { [ADOPT]: id }));
    const { ready, status } = await stack.reason(CREDENTIALS, 'tokenless', 'Ready', 'TokenUnavailable');
    expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining(ROTATE) });
    expect(status.id).toBe(id);
    expect(await stack.secret('tokenless')).toBeUndefined();
    expect(await stack.accepts(theirs ?? '')).toBe(true);

    await stack.run('annotate', 'tcred', 'tokenless', `${ROTATE}=now`);
    await stack.ready(CREDENTIALS, 'tokenless');
    expect(await stack.accepts(await token('tokenless'))).toBe(true);
    await eventually(async () => expect(await stack.accepts(theirs ?? '')).toBe(false));
    expect(await stack.remoteIds()).not.toContain(id);
  });

  test('survives Retain in its Secret, and a later adoption takes it from there', async () => {
    const { id } = await made(credential('keeper', { deletionPolicy: 'Retain' }));
    const before = await token('keeper');
    await stack.remove(CREDENTIALS, 'keeper');
    const { metadata } = await stack.kube.get(SECRETS, 'keeper', namespace);
    expect(metadata.ownerReferences ?? []).toEqual([]);
    expect(await token('keeper')).toBe(before);
    expect(await stack.accepts(before)).toBe(true);

    await stack.apply(credential('keeper', {}, { [ADOPT]: id }));
    const { object, status } = await stack.ready(CREDENTIALS, 'keeper');
    expect(status.id).toBe(id);
    expect(await token('keeper')).toBe(before);
    const owners = (await stack.kube.get(SECRETS, 'keeper', namespace)).metadata.ownerReferences;
    expect(owners).toMatchObject([{ uid: object.metadata.uid }]);
  });

  test('that Retain left in a Secret is not overwritten by another object of that name', async () => {
    const { id } = await made(credential('left', { deletionPolicy: 'Retain' }));
    const before = await token('left');
    await stack.remove(CREDENTIALS, 'left');
    await stack.apply(credential('left'));
    const { ready } = await stack.reason(CREDENTIALS, 'left', 'Ready', 'SecretConflict');
    expect(ready?.message).toContain(id);
    expect(await token('left')).toBe(before);
    expect(await stack.accepts(before)).toBe(true);
  });

  test('that was superseded is revoked at the latest with the object, even with Retain', async () => {
    const { id } = await made(credential('superseded', { deletionPolicy: 'Retain', rotation: { overlap: '1h' } }));
    const before = await token('superseded');
    await stack.run('annotate', 'tcred', 'superseded', `${ROTATE}=now`);
    await eventually(async () => expect((await stack.ready(CREDENTIALS, 'superseded')).status.id).not.toBe(id));
    expect(await stack.accepts(before)).toBe(true);
    await stack.remove(CREDENTIALS, 'superseded');
    // Nobody would be left to end the overlap.
    expect(await stack.accepts(before)).toBe(false);
    expect(await stack.accepts(await token('superseded'))).toBe(true);
  });

  test('in the Secret of a restored object is kept when the Secret was restored too', async () => {
    const { id, object } = await made(credential('backup'));
    const before = await token('backup');
    const secret = await stack.kube.get(SECRETS, 'backup', namespace);
    await stack.restart(async () => {
      await stack.kube.patch(CREDENTIALS, 'backup', { metadata: { finalizers: null } }, namespace);
      await stack.run('delete', 'secret', 'backup');
      await stack.kube.delete(CREDENTIALS, 'backup', namespace);
      await stack.apply(credential('backup', {}, object.metadata.annotations));
      const { name, labels, annotations } = secret.metadata;
      const { type, data } = secret;
      await stack.apply({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, labels, annotations },
        type,
        data,
      } as Manifest);
    });
    const { status } = await stack.ready(CREDENTIALS, 'backup');
    expect(status.id).toBe(id);
    expect(await token('backup')).toBe(before);
    expect(await stack.accepts(before)).toBe(true);
  });
});
