/** Tokens are replaced while agents with the old one keep working. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CREDENTIALS, credential } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'rotation' });

const ROTATE = 'tunnel-operator.dev/rotate-requested-at';
const token = async (name: string) => (await stack.secret(name))?.token ?? '';
const rotate = (name: string, when: string) => stack.run('annotate', 'tcred', name, `${ROTATE}=${when}`, '--overwrite');

async function made(name: string, spec: object = {}, annotations: Record<string, string> = {}) {
  await stack.apply(credential(name, spec, annotations));
  const { status } = await stack.ready(CREDENTIALS, name);
  return { id: String(status.id), token: await token(name) };
}

/** Waits until a credential other than `id` is in place. */
const replaced = (name: string, id: string) =>
  eventually(async () => {
    const seen = await stack.ready(CREDENTIALS, name);
    expect(seen.status.id).not.toBe(id);
    return { id: String(seen.status.id), token: await token(name), status: seen.status };
  });

/** Makes the credential older by so many hours. */
async function age(id: string, hours: number) {
  await stack.sql(`update credentials set created_at = created_at - make_interval(hours => $2) where id = $1`, [
    id,
    hours,
  ]);
}

describe('a rotation on request', () => {
  test('issues a new token; both work during the overlap, then the old one is revoked', async () => {
    const before = await made('overlapping', { rotation: { overlap: '5s' } });
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

  test('keeps the old token for the whole overlap, however late the new one comes', { timeout: 60_000 }, async () => {
    const before = await made('late', { rotation: { overlap: '3s' } });
    await stack.sql(
      `create function refuse_late() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`,
    );
    await stack.sql('create trigger refuse_late before insert on credentials execute function refuse_late()');
    await rotate('late', '1');
    const overlapOver = await eventually(async () => {
      const { object } = await stack.see(CREDENTIALS, 'late');
      const [entry] = JSON.parse(object.metadata.annotations?.['tunnel-operator.dev/retiring'] ?? '[]');
      return Date.parse(z.object({ after: z.string() }).parse(entry).after);
    });
    await eventually(async () => expect(Date.now()).toBeGreaterThan(overlapOver));
    await stack.sql('drop function refuse_late cascade');
    await replaced('late', before.id);
    expect(await stack.accepts(before.token)).toBe(true);
    await eventually(async () => expect(await stack.accepts(before.token)).toBe(false));
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
});

describe('a rotation by age', () => {
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
    // Just before it is due.
    await stack.sql(`update credentials set created_at = now() - interval '59 minutes 56 seconds' where id = $1`, [
      before.id,
    ]);
    await stack.reconciled(CREDENTIALS, 'alone');
    await replaced('alone', before.id);
    await eventually(async () => expect(await stack.accepts(before.token)).toBe(false));
  });
});
