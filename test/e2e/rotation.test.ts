/** Tokens are replaced while agents with the old one keep working. */
import { describe, expect, test } from 'vitest';
import { CREDENTIALS, credential, eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'rotation' });

const ROTATE = 'tunnel-operator.dev/rotate-requested-at';
const token = async (name: string) => (await stack.secret(name))?.token ?? '';
const rotate = (name: string, when: string) => stack.run('annotate', 'tcred', name, `${ROTATE}=${when}`, '--overwrite');

async function made(name: string, spec: object = {}, annotations: Record<string, string> = {}) {
  await stack.apply(credential(name, spec, annotations));
  const { status } = await stack.ready(CREDENTIALS, name);
  return { id: String(status.id), token: await token(name) };
}

/** Waits until another credential than `id` is in place. */
const replaced = (name: string, id: string) =>
  eventually(async () => {
    const seen = await stack.ready(CREDENTIALS, name);
    expect(seen.status.id).not.toBe(id);
    return { id: String(seen.status.id), token: await token(name), status: seen.status };
  });

/** As if the credential had been issued so long ago. */
async function age(id: string, hours: number) {
  await stack.sql(`update credentials set created_at = created_at - make_interval(hours => $2) where id = $1`, [
    id,
    hours,
  ]);
}

describe('a rotation on request', () => {
  test('issues a new token; both work during the overlap, then the old one is revoked', async () => {
    const before = await made('overlapping', { rotation: { overlap: '8s' } });
    await rotate('overlapping', '2026-11-21T10:00:00Z');
    const after = await replaced('overlapping', before.id);
    expect(await stack.accepts(before.token)).toBe(true);
    expect(await stack.accepts(after.token)).toBe(true);
    expect(after.token).not.toBe(before.token);
    await eventually(async () => expect(await stack.accepts(before.token)).toBe(false));
    expect(await stack.accepts(after.token)).toBe(true);
    expect(await stack.remoteIds()).not.toContain(before.id);
    await eventually(async () => {
      const reasons = (await stack.events('overlapping')).map(({ reason }) => reason);
      expect(reasons).toEqual(expect.arrayContaining(['TokenRotated', 'OldCredentialRevoked']));
    });
    const { object } = await stack.see(CREDENTIALS, 'overlapping');
    expect(object.metadata.annotations).not.toHaveProperty(['tunnel-operator.dev/retiring']);
  });

  test('is counted when the token is issued, not before', async () => {
    const issued = () => stack.metric('tunnel_operator_credentials_issued_total');
    const before = await made('counted', { rotation: { overlap: '0s' } });
    const issuedBefore = await issued();
    await stack.sql(`create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
    await stack.sql('create trigger refuse before insert on credentials for each row execute function refuse()');
    await rotate('counted', 'now');
    await eventually(async () => {
      const { object } = await stack.see(CREDENTIALS, 'counted');
      expect(object.metadata.annotations).toMatchObject({ 'tunnel-operator.dev/create-generation': '2' });
      expect(await stack.metric('tunnel_operator_api_requests_total', { method: 'POST', code: '500' })).toBeGreaterThan(
        0,
      );
    });
    expect(await issued()).toBe(issuedBefore);
    await stack.sql('drop function refuse cascade');
    await replaced('counted', before.id);
    expect(await issued()).toBe(issuedBefore + 1);
  });

  test('carries over the spec', async () => {
    const spec = { description: 'kept', metadata: 'too', acl: ['bind:a.example.com'], rotation: { overlap: '0s' } };
    const before = await made('carried', spec);
    await rotate('carried', 'now');
    const { id } = await replaced('carried', before.id);
    const { description, metadata, acl } = spec;
    expect(await stack.client.credentials.get(id)).toMatchObject({ description, metadata, acl });
  });

  test('happens once per value of the annotation', async () => {
    const before = await made('once', { rotation: { overlap: '0s' } });
    await rotate('once', 'first');
    const first = await replaced('once', before.id);
    expect((await stack.reconciled(CREDENTIALS, 'once')).status.id).toBe(first.id);
    await rotate('once', 'first');
    expect((await stack.reconciled(CREDENTIALS, 'once')).status.id).toBe(first.id);
    await stack.restart();
    expect((await stack.reconciled(CREDENTIALS, 'once')).status.id).toBe(first.id);
    await rotate('once', 'second');
    const second = await replaced('once', first.id);
    expect(await stack.accepts(second.token)).toBe(true);
  });

  test('requested before there was anything to rotate is not carried out', async () => {
    const { id } = await made('early', {}, { [ROTATE]: 'before' });
    expect((await stack.reconciled(CREDENTIALS, 'early')).status.id).toBe(id);
  });

  test('during the overlap of another keeps every token until its own time', async () => {
    const first = await made('often', { rotation: { overlap: '1h' } });
    await rotate('often', '1');
    const second = await replaced('often', first.id);
    await rotate('often', '2');
    const third = await replaced('often', second.id);
    for (const { token } of [first, second, third]) expect(await stack.accepts(token)).toBe(true);
  });

  test('interrupted by the deletion of the object leaves no credential behind', async () => {
    const first = await made('cut', { rotation: { overlap: '1h' } });
    await rotate('cut', '1');
    const second = await replaced('cut', first.id);
    await stack.remove(CREDENTIALS, 'cut');
    const left = await stack.remoteIds();
    expect(left).not.toContain(first.id);
    expect(left).not.toContain(second.id);
  });

  test('has its old token revoked even if the operator was down when it was due', async () => {
    const before = await made('absent', { rotation: { overlap: '1s' } });
    await rotate('absent', '1');
    await replaced('absent', before.id);
    await stack.restart();
    await eventually(async () => expect(await stack.accepts(before.token)).toBe(false));
  });

  test('of a Secret that is deleted meanwhile ends with one working token', async () => {
    const before = await made('both', { rotation: { overlap: '0s' } });
    await Promise.all([rotate('both', '1'), stack.run('delete', 'secret', 'both')]);
    await eventually(async () => {
      expect(await stack.accepts(await token('both'))).toBe(true);
      expect(await stack.accepts(before.token)).toBe(false);
      const { object } = await stack.ready(CREDENTIALS, 'both');
      expect(object.metadata.annotations).not.toHaveProperty(['tunnel-operator.dev/retiring']);
      expect((await stack.secret('both'))?.['credential-id']).toBe((await stack.see(CREDENTIALS, 'both')).status.id);
    });
  });
});

describe('a rotation by age', () => {
  test('shows in the status when it is due', async () => {
    const { id } = await made('timed', { rotation: { interval: '720h', overlap: '24h' } });
    const { status } = await stack.see(CREDENTIALS, 'timed');
    const { created_at } = await stack.client.credentials.get(id);
    expect(status.issuedAt).toBe(created_at);
    expect(status.rotatesAt).toBe(new Date(Date.parse(created_at) + 720 * 3_600_000).toISOString());
  });

  test('follows a change of the interval, and ends with its removal', async () => {
    await made('changing', { rotation: { interval: '720h' } });
    const rotatesAt = async () => {
      const { status } = await stack.ready(CREDENTIALS, 'changing');
      return (Date.parse(String(status.rotatesAt)) - Date.parse(String(status.issuedAt))) / 3_600_000;
    };
    expect(await rotatesAt()).toBe(720);
    await stack.apply(credential('changing', { rotation: { interval: '24h' } }));
    expect(await rotatesAt()).toBe(24);
    await stack.apply(credential('changing'));
    expect((await stack.ready(CREDENTIALS, 'changing')).status).not.toHaveProperty('rotatesAt');
  });

  test('happens when the token reaches that age, and not again before the new one does', async () => {
    const before = await made('aged', { rotation: { interval: '1h', overlap: '30m' } });
    await age(before.id, 2);
    await stack.reconciled(CREDENTIALS, 'aged');
    const after = await replaced('aged', before.id);
    expect(Date.parse(String(after.status.rotatesAt))).toBeGreaterThan(Date.now());
    expect(await stack.accepts(before.token)).toBe(true);
    expect((await stack.reconciled(CREDENTIALS, 'aged')).status.id).toBe(after.id);
  });

  test('happens by itself, without any trigger', { timeout: 60_000 }, async () => {
    const before = await made('alone', { rotation: { interval: '1h', overlap: '0s' } });
    // Ten seconds short of its hour.
    await stack.sql(`update credentials set created_at = now() - interval '59 minutes 50 seconds' where id = $1`, [
      before.id,
    ]);
    expect((await stack.reconciled(CREDENTIALS, 'alone')).status.id).toBe(before.id);
    await replaced('alone', before.id);
    await eventually(async () => expect(await stack.accepts(before.token)).toBe(false));
  });

  test('is caught up on after a restart', async () => {
    const before = await made('missed', { rotation: { interval: '1h', overlap: '0s' } });
    await stack.sql(`update credentials set created_at = now() - interval '59 minutes 58 seconds' where id = $1`, [
      before.id,
    ]);
    await stack.reconciled(CREDENTIALS, 'missed');
    await stack.restart();
    await replaced('missed', before.id);
  });
});
