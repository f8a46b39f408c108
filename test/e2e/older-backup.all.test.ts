/** The database of the API is restored from a backup that is older than the cluster. */
import { expect, test } from 'vitest';
import { CREDENTIALS, credential } from './manifest.ts';
import { eventually, startStack } from './stack.ts';

const stack = await startStack({ prefix: 'older-backup', settings: { resyncMs: 2_000 } });

const ROTATE = 'tunnel-operator.dev/rotate-requested-at';
const RETIRING = 'tunnel-operator.dev/retiring';
const RECONCILE = 'tunnel-operator.dev/reconcile-requested-at';

/** The credentials, and the idempotency records of what was created for each object. */
const TABLES = ['credentials', 'idempotency_keys', 'idempotency_scopes'];

/** Generated columns cannot be written. */
const COLUMNS = `select string_agg(quote_ident(column_name), ', ') as names from information_schema.columns
  where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`;

async function backUp(): Promise<void> {
  await stack.sql('drop schema if exists backup cascade');
  await stack.sql('create schema backup');
  for (const table of TABLES) await stack.sql(`create table backup.${table} as table public.${table}`);
}

async function restore(): Promise<void> {
  for (const table of TABLES) {
    const [row] = await stack.sql(COLUMNS, [table]);
    await stack.sql(`delete from public.${table}`);
    await stack.sql(`insert into public.${table} (${row?.names}) select ${row?.names} from backup.${table}`);
  }
}

async function made(name: string, overlap: string) {
  await stack.apply(credential(name, { description: name, rotation: { overlap } }));
  const { status } = await stack.ready(CREDENTIALS, name);
  return { id: String(status.id), token: (await stack.secret(name))?.token };
}

async function rotate(name: string, id: string): Promise<void> {
  await stack.annotate(CREDENTIALS, name, { [ROTATE]: `${Date.now()}` });
  await stack.newIdOf(CREDENTIALS, name, id);
}

const idsOf = async (name: string) => {
  const rows = await stack.sql('select id from credentials where description = $1', [name]);
  return rows.map(({ id }) => id);
};

/** Expects exactly one credential of the object, and a token in its Secret that works. */
async function isInOrder(name: string): Promise<void> {
  const { status } = await stack.ready(CREDENTIALS, name);
  expect(await idsOf(name)).toEqual([status.id]);
  expect(await stack.accepts((await stack.secret(name))?.token)).toBe(true);
}

test('each object ends up with one working token; tokens revoked since the backup are revoked again', async () => {
  const kept = await made('kept', '0s');
  const rotated = await made('rotated', '0s');
  const overlapping = await made('overlapping', '1h');
  const removed = await made('removed', '0s');
  await rotate('overlapping', overlapping.id);
  await backUp();
  const overdue = JSON.stringify([{ id: overlapping.id, generation: 1, after: '2026-01-01T00:00:00.000Z' }]);
  await stack.annotate(CREDENTIALS, 'overlapping', { [RETIRING]: overdue });
  await eventually(async () => expect(await stack.accepts(overlapping.token)).toBe(false));
  await rotate('rotated', rotated.id);
  await eventually(async () => expect(await stack.accepts(rotated.token)).toBe(false));
  await made('later', '0s');
  await stack.remove(CREDENTIALS, 'removed');

  await stack.restart(restore);
  // A credential whose object was deleted is back, and the operator cannot know about it.
  expect(await stack.accepts(removed.token)).toBe(true);
  expect(await idsOf('removed')).toEqual([removed.id]);
  // The next resync notices credentials that are gone. Those that are back are noticed when a reconcile is requested.
  const names = ['kept', 'rotated', 'overlapping', 'later'];
  await eventually(async () => {
    for (const name of ['kept', 'rotated', 'later']) await isInOrder(name);
  });
  // As documented.
  const asked = await stack.run('annotate', 'tunnels', '--all', '--overwrite', `${RECONCILE}=restored`);
  expect(asked).toMatchObject({ code: 0 });
  const waited = await stack.run('wait', 'tunnels', '--all', '--for=condition=Ready', '--timeout=60s');
  expect(waited).toMatchObject({ code: 0 });
  await eventually(async () => {
    for (const name of names) await isInOrder(name);
  });
  expect((await stack.see(CREDENTIALS, 'kept')).status.id).toBe(kept.id);
  for (const { token } of [rotated, overlapping]) expect(await stack.accepts(token)).toBe(false);
});
