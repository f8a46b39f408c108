/** Superseded tokens are revoked when their time has come, whatever else is wrong. */
import { describe, expect, test } from 'vitest';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { credentialsOf } from './credentials.ts';
import { CREDENTIALS, credential, eventually, SECRETS, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'superseded' });
const { tokenOf, annotate, made, adopting, idsOf, rotated } = credentialsOf(stack);

/** As if everything that waits for a time were overdue. */
async function overdue(name: string) {
  const { object } = await stack.see(CREDENTIALS, name);
  const entries: object[] = JSON.parse(object.metadata.annotations?.[ANNOTATION.retiring] ?? '[]');
  return { retiring: JSON.stringify(entries.map((entry) => ({ ...entry, after: '2026-01-01T00:00:00.000Z' }))) };
}

/** As restored from a backup after its namespace was lost: under another UID, without its status. */
async function restored(name: string) {
  const { metadata } = (await stack.see(CREDENTIALS, name)).object;
  const { spec } = (await stack.see(CREDENTIALS, name)).object;
  await stack.kube.patch(CREDENTIALS, name, { metadata: { finalizers: null } }, stack.namespace);
  await stack.run('delete', 'tcred', name, '--cascade=orphan');
  const { annotations = {}, finalizers = [] } = metadata;
  await stack.apply({ ...credential(name, spec as object), metadata: { name, annotations, finalizers } });
}

test('what is restored from a backup under another UID still retires what it had superseded', async () => {
  const first = await made('restored', { rotation: { overlap: '1h' } });
  const second = await rotated('restored', first.id);
  await stack.restart(() => restored('restored'));
  expect((await stack.ready(CREDENTIALS, 'restored')).status).toMatchObject({ id: second.id });
  for (const { token } of [first, second]) expect(await stack.accepts(token)).toBe(true);
  const third = await rotated('restored', second.id);
  await annotate('restored', await overdue('restored'));
  await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
  expect(await stack.accepts(third.token)).toBe(true);
  await stack.remove(CREDENTIALS, 'restored');
  expect(await idsOf('restored')).toEqual([]);
});

describe('a superseded token is revoked', () => {
  test.each([
    ['unlisted', made],
    ['adopted-unlisted', adopting],
  ])('although the list of what is to be retired was removed: %s', async (name, begin) => {
    const first = await begin(name, { rotation: { overlap: '3s' } });
    await rotated(name, first.id);
    await annotate(name, { retiring: null });
    await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
    expect(await stack.accepts(await tokenOf(name))).toBe(true);
  });

  test('when the policy is Observe by then', async () => {
    const first = await made('observed', { rotation: { overlap: '3s' } });
    const second = await rotated('observed', first.id);
    await stack.apply(credential('observed', { description: 'observed', managementPolicy: 'Observe' }));
    await stack.reason(CREDENTIALS, 'observed', 'Synced', 'Observed');
    await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
    expect(await stack.accepts(second.token)).toBe(true);
    await stack.remove(CREDENTIALS, 'observed');
    expect(await idsOf('observed')).toEqual([second.id]);
  });

  test('when the object is deleted under Observe, which leaves the newest to be adopted', async () => {
    const first = await made('left', { rotation: { overlap: '1h' } });
    const second = await rotated('left', first.id);
    await stack.apply(credential('left', { description: 'left', managementPolicy: 'Observe' }));
    await stack.reason(CREDENTIALS, 'left', 'Synced', 'Observed');
    expect(await stack.accepts(first.token)).toBe(true);
    await stack.remove(CREDENTIALS, 'left');
    expect(await idsOf('left')).toEqual([second.id]);
    const secret = await stack.kube.get(SECRETS, 'left', stack.namespace);
    expect(secret.metadata.ownerReferences ?? []).toEqual([]);
    await stack.apply(credential('left', { description: 'left' }, { [ANNOTATION.adopt]: second.id }));
    expect((await stack.ready(CREDENTIALS, 'left')).status.id).toBe(second.id);
    expect(await tokenOf('left')).toBe(second.token);
    expect(await stack.accepts(second.token)).toBe(true);
  });

  test('when its Secret belongs to somebody else by then', async () => {
    const first = await made('conflicting', { rotation: { overlap: '1h' } });
    await rotated('conflicting', first.id);
    await stack.restart(async () => {
      await stack.run('delete', 'secret', 'conflicting');
      await stack.kube.create(SECRETS, { metadata: { name: 'conflicting' } }, stack.namespace);
      await annotate('conflicting', await overdue('conflicting'));
    });
    await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
    await stack.reason(CREDENTIALS, 'conflicting', 'Ready', 'SecretConflict');
  });

  test('and until then is nobody else’s, whoever asks to adopt it', async () => {
    const first = await made('turning', { rotation: { overlap: '1h' } });
    await stack.apply(credential('asking', { description: 'turning' }, { [ANNOTATION.adopt]: first.id }));
    await stack.reason(CREDENTIALS, 'asking', 'Ready', 'ManagementConflict');
    const second = await rotated('turning', first.id);
    await eventually(async () => {
      const { ready } = await stack.reason(CREDENTIALS, 'asking', 'Ready', 'ManagementConflict');
      expect(ready?.message).toContain('superseded, but still managed by the TunnelCredential');
    });
    expect(await stack.accepts(first.token)).toBe(true);
    await annotate('turning', await overdue('turning'));
    await stack.reason(CREDENTIALS, 'asking', 'Ready', 'ExternalNotFound');
    expect(await stack.accepts(first.token)).toBe(false);
    expect(await stack.accepts(second.token)).toBe(true);
    expect(await idsOf('turning')).toEqual([second.id]);
  });

  test('not while the object is paused, which says so, but after that', async () => {
    const first = await made('paused', { rotation: { overlap: '1h' } });
    await rotated('paused', first.id);
    await annotate('paused', { paused: 'true', ...(await overdue('paused')) });
    const { synced } = await stack.reason(CREDENTIALS, 'paused', 'Synced', 'Paused');
    expect(synced?.message).toContain(`superseded, and not deleted while paused: ${first.id}`);
    expect(await stack.accepts(first.token)).toBe(true);
    await annotate('paused', { paused: null });
    await eventually(async () => expect(await stack.accepts(first.token)).toBe(false));
  });
});
