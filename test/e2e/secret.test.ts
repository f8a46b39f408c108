/** The Secret that holds a credential's token. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { credentialsOf, encoded } from './credentials.ts';
import { CREDENTIALS, credential, ours, SECRETS } from './manifest.ts';
import { eventually, startStack } from './stack.ts';
import { patchStatus } from './status.ts';

const stack = await startStack({ prefix: 'secret' });
const { namespace, kube } = stack;
const { made, tokenOf, patchSecret } = credentialsOf(stack);

describe('the Secret of a credential', () => {
  test('has the token, the id and its own type, and is deleted with the credential', async () => {
    const { object, id } = await made('plain');
    const secret = await kube.get(SECRETS, 'plain', namespace);
    const data = await stack.secret('plain');
    expect(data).toEqual({ token: expect.stringMatching(/^tnl_cr_/), 'credential-id': id });
    expect(secret.type).toBe('tunnel-operator.dev/authtoken');
    expect(secret.metadata.labels).toEqual({ 'app.kubernetes.io/managed-by': 'tunnel-operator' });
    expect(secret.metadata.annotations).toEqual({
      'tunnel-operator.dev/token-sha256': createHash('sha256')
        .update(data?.token ?? '')
        .digest('hex'),
    });
    expect(secret.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'tunnel-operator.dev/v1alpha1',
        kind: 'TunnelCredential',
        name: 'plain',
        uid: object.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(await stack.accepts(data?.token)).toBe(true);
  });

  test('moves with its token when name and key change at once', async () => {
    const before = await made('both');
    await stack.apply(credential('both', { secret: { name: 'both-moved', key: 'T' } }));
    await stack.ready(CREDENTIALS, 'both');
    expect(await stack.secret('both-moved')).toEqual({ T: before.token, 'credential-id': before.id });
    expect(await stack.secret('both')).toBeUndefined();
  });
});

describe('a Secret that belongs to something else', () => {
  test('is never overwritten; once it is gone, the object has one credential and its token', async () => {
    const remotes = await stack.remoteIds();
    await stack.run('create', 'secret', 'generic', 'taken', '--from-literal=token=mine');
    await stack.apply(credential('taken'));
    const { ready } = await stack.reason(CREDENTIALS, 'taken', 'Ready', 'SecretConflict');
    expect(ready).toMatchObject({ status: 'False', message: expect.stringContaining('Secret taken exists') });
    expect(await stack.secret('taken')).toEqual({ token: 'mine' });
    await eventually(async () => expect(await stack.remoteIds()).toEqual(remotes));
    const about = { kind: 'TunnelCredential', reason: 'SecretConflict' };
    const conflicts = () => stack.metric('tunnel_operator_not_ready_objects', about);
    await eventually(async () => expect(await conflicts()).toBe(1));

    await stack.run('delete', 'secret', 'taken');
    await stack.ready(CREDENTIALS, 'taken');
    expect(await stack.accepts(await tokenOf('taken'))).toBe(true);
    const created = (await stack.remoteIds()).filter((id) => !remotes.includes(id));
    expect(created).toHaveLength(1);
    await eventually(async () => expect(await conflicts()).toBe(0));
  });

  test('does not keep an object of another kind from having one of its own', async () => {
    await made('shared');
    const target = { webhook: { url: 'https://hooks.example.com/a' } };
    await stack.apply({ ...credential('shared', { target }), kind: 'EventDestination' });
    await stack.ready(ours('eventdestinations'), 'shared');
    expect(Object.keys((await stack.secret('shared-signing-secret')) ?? {})).toContain('signing-secret');
  });
});

test('with room for one Secret in a quota, nothing remains of the second credential until there is more', async () => {
  const remotes = await stack.remoteIds();
  const used = { secrets: String((await kube.list(SECRETS, { namespace })).items.length) };
  const hard = { secrets: String(Number(used.secrets) + 1) };
  await stack.run('create', 'quota', 'one-more', `--hard=secrets=${hard.secrets}`);
  await patchStatus(stack, 'quota', 'one-more', { hard, used });
  await stack.apply(credential('fits'), credential('excess'));
  const [refused, other] = await eventually(async () => {
    const seen = await Promise.all(['fits', 'excess'].map((name) => stack.see(CREDENTIALS, name)));
    const isRefused = ({ ready }: (typeof seen)[number]) => ready?.reason === 'KubernetesError';
    expect(seen.map(isRefused).toSorted()).toEqual([false, true]);
    return seen.toSorted((a, b) => Number(isRefused(b)) - Number(isRefused(a)));
  });
  expect(refused?.ready?.message).toContain('exceeded quota');
  await eventually(async () => expect(await stack.remoteIds()).toHaveLength(remotes.length + 1));
  await stack.run('delete', 'quota', 'one-more');
  for (const { object } of [refused, other].filter((seen) => seen !== undefined)) {
    await stack.reconciled(CREDENTIALS, object.metadata.name);
    await stack.ready(CREDENTIALS, object.metadata.name);
    expect(await stack.accepts(await tokenOf(object.metadata.name))).toBe(true);
  }
});

describe('a Secret that was', () => {
  test('deleted by hand is restored with a new token, and the old one is revoked', async () => {
    const before = await made('deleted');
    await stack.run('delete', 'secret', 'deleted');
    const after = await eventually(async () => {
      const now = await tokenOf('deleted');
      expect(now).not.toBe(before.token);
      expect(await stack.accepts(now)).toBe(true);
      return now;
    });
    expect(after).not.toBe(before.token);
    await eventually(async () => {
      expect((await stack.ready(CREDENTIALS, 'deleted')).status.id).not.toBe(before.id);
      expect(await stack.accepts(before.token)).toBe(false);
      const reasons = (await stack.events('deleted')).map(({ reason }) => reason);
      expect(reasons).toEqual(expect.arrayContaining(['TokenReissued', 'OldCredentialRevoked']));
    });
    expect(await stack.remoteIds()).not.toContain(before.id);
    expect((await stack.secret('deleted'))?.['credential-id']).toBe(
      (await stack.see(CREDENTIALS, 'deleted')).status.id,
    );
  });

  test('deleted while the operator was down is restored with a new token as well', async () => {
    const before = await made('away');
    await stack.restart(async () => {
      await stack.run('delete', 'secret', 'away');
    });
    await eventually(async () => expect(await stack.accepts(await tokenOf('away'))).toBe(true));
    expect(await tokenOf('away')).not.toBe(before.token);
    await eventually(async () => expect(await stack.accepts(before.token)).toBe(false));
  });

  test.each([
    ['stripped of its token', { data: { token: null } }],
    ['given another token', { data: { token: encoded('tnl_cr_made_up') } }],
    ['given the id of another credential', { data: { 'credential-id': encoded('cr_01k9zq3v5hf8svx2r4c6y7n0wd') } }],
    ['emptied', { data: null }],
  ])('%s gets a new token, and the old one is revoked', async (what, patch) => {
    const name = what.replaceAll(' ', '-');
    const before = await made(name);
    await patchSecret(name, patch);
    await eventually(async () => {
      const data = await stack.secret(name);
      expect(data).toEqual({ token: expect.stringMatching(/^tnl_cr_/), 'credential-id': expect.any(String) });
      expect(data?.token).not.toBe(before.token);
      expect(await stack.accepts(data?.token)).toBe(true);
      expect(await stack.accepts(before.token)).toBe(false);
    });
  });

  test.each([
    ['stripped of its label', { metadata: { labels: { 'app.kubernetes.io/managed-by': null } } }],
    ['changed in an annotation of its template', { metadata: { annotations: { note: 'changed' } } }],
    ['stripped of its owner reference', { metadata: { ownerReferences: null } }],
    ['given a further key', { data: { other: encoded('x') } }],
  ])('%s is restored, with the same token', async (what, patch) => {
    const name = what.replaceAll(' ', '-');
    const before = await made(name, { secret: { template: { labels: { app: 'shop' }, annotations: { note: 'n' } } } });
    const secret = await kube.get(SECRETS, name, namespace);
    const stable = ({ metadata, data, type }: typeof secret) => {
      const { labels, annotations, ownerReferences } = metadata;
      return { labels, annotations, ownerReferences, data, type };
    };
    await patchSecret(name, patch);
    await eventually(async () => expect(stable(await kube.get(SECRETS, name, namespace))).toEqual(stable(secret)));
    expect((await stack.reconciled(CREDENTIALS, name)).status.id).toBe(before.id);
    expect(await stack.accepts(before.token)).toBe(true);
    // The operator watches it again.
    await stack.run('delete', 'secret', name);
    await eventually(async () => expect(await stack.accepts((await stack.secret(name))?.token)).toBe(true));
  });
});
