import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { LOCKS } from '../../../src/api/store/locks.ts';
import { type Migration, migrate, migrations, pendingMigrations } from '../../../src/api/store/migrate.ts';
import { createTestDatabase } from '../../harness.ts';
import { heldTransaction } from '../harness.ts';
import { recordings } from './schema/recorded-rows.ts';

const ours = await migrations();

async function tables(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("select tablename from pg_tables where schemaname = 'public' order by 1");
  await client.end();
  return rows.map((row: { tablename: string }) => row.tablename);
}

const WAITING = `
  select from pg_stat_activity
   where datname = current_database() and application_name = 'tunnel-operator migrate' and wait_event_type = 'Lock'`;
const INDEXES_OF_A = `
  select indexrelid::regclass::text as name, indisvalid as valid, indisunique as unique
    from pg_index where indrelid = 'a'::regclass order by 1`;

describe('migrations', () => {
  test('are numbered without a gap', () => {
    expect(ours.map(({ version }) => version)).toEqual(ours.map((_, index) => index + 1));
  });

  test('do not change once released, since databases have applied them', async () => {
    for (const { checksums } of await recordings()) {
      expect(Object.fromEntries(ours.map(({ name, checksum }) => [name, checksum]))).toMatchObject(checksums);
    }
  });

  test('take nothing away: an older API works beside the new one, and after a rollback', () => {
    const takes = /\b(drop (table|column|view)|rename (to|column)|set not null)\b/i;
    expect(ours.filter(({ sql }) => takes.test(sql)).map(({ name }) => name)).toEqual([]);
  });

  test('are applied once, in order', async () => {
    const url = await createTestDatabase();
    expect(await migrate(url)).toEqual(ours.map(({ name }) => name));
    expect(await migrate(url)).toEqual([]);
    expect(await tables(url)).toContain('ip_policies');
  });

  test('leave a database that is ahead alone', async () => {
    const url = await createTestDatabase();
    const later = { version: 9999, name: '9999_later.sql', sql: 'create table later ()', checksum: 'x' };
    await migrate(url, [...ours, later]);
    expect(await migrate(url)).toEqual([]);
  });

  test.each([
    ['a table that they change', 'lock table a in access share mode'],
    ['the lock of all migrations', `select pg_advisory_lock(${LOCKS.migration})`],
  ])('wait for %s, say so, and let others write meanwhile', async (_, lock) => {
    const url = await createTestDatabase();
    const first = { version: 1, name: '0001_a.sql', sql: 'create table a (n integer)', checksum: 'x' };
    const next = { version: 2, name: '0002_b.sql', sql: 'alter table a add m integer', checksum: 'x' };
    await migrate(url, [first]);
    const [held, writer] = [await heldTransaction(url), await heldTransaction(url)];
    await held.query(lock);
    const waiting = Promise.withResolvers<void>();
    const migrated = migrate(url, [first, next], waiting.resolve);
    await waiting.promise;
    // If the migration waits for the table, this queues behind it until its lock timeout.
    await writer.query('insert into a values (1)');
    await writer.commit();
    await held.rollback();
    expect(await migrated).toEqual([next.name]);
  });

  test('that build indexes let others write meanwhile, and replace what an earlier attempt has left', async () => {
    const url = await createTestDatabase();
    const first = { version: 1, name: '0001_a.sql', sql: 'create table a (n integer)', checksum: 'x' };
    const sql =
      '-- For lists.\ncreate index concurrently a_by_n on a (n);\ncreate index concurrently a_by_both on a (n, n);\n';
    const next = { version: 2, name: '0002_b.sql', sql, checksum: 'x' };
    await migrate(url, [first]);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('insert into a values (1), (1)');
    await expect(client.query('create unique index concurrently a_by_n on a (n)')).rejects.toThrow('could not create');
    const open = await heldTransaction(url);
    await open.query('insert into a values (2)');
    const migrated = migrate(url, [first, next]);
    await expect.poll(async () => (await client.query(WAITING)).rows.length).toBe(1);
    await client.query('insert into a values (3)');
    await open.commit();
    expect(await migrated).toEqual([next.name]);
    expect((await client.query(INDEXES_OF_A)).rows).toEqual([
      { name: 'a_by_both', valid: true, unique: false },
      { name: 'a_by_n', valid: true, unique: false },
    ]);
    expect(await migrate(url, [first, next])).toEqual([]);
    await client.end();
  });

  test('that build indexes are not held up by processes that wait for their turn', async () => {
    const url = await createTestDatabase();
    const first = { version: 1, name: '0001_a.sql', sql: 'create table a (n integer)', checksum: 'x' };
    const next = { version: 2, name: '0002_b.sql', sql: 'create index concurrently a_by_n on a (n);\n', checksum: 'x' };
    await migrate(url, [first]);
    const open = await heldTransaction(url);
    await open.query('insert into a values (1)');
    const waiting = Promise.withResolvers<void>();
    const both = [migrate(url, [first, next], waiting.resolve), migrate(url, [first, next], waiting.resolve)];
    await waiting.promise;
    await open.commit();
    expect((await Promise.all(both)).flat()).toEqual([next.name]);
  });

  test('that fail leave nothing behind, and run again once fixed', async () => {
    const url = await createTestDatabase();
    const broken = { version: 1, name: '0001_a.sql', sql: 'create table a (); select 1/0;', checksum: 'x' };
    const message = 'migration 0001_a.sql failed';
    await expect(migrate(url, [broken])).rejects.toMatchObject({ message, cause: { code: '22012' } });
    expect(await tables(url)).toEqual(['schema_migrations']);
    // A failure to record the migration undoes the migration as well.
    const hiding = { ...broken, sql: 'create table a (); alter table schema_migrations rename to hidden' };
    await expect(migrate(url, [hiding])).rejects.toMatchObject({ message, cause: { code: '42P01' } });
    expect(await tables(url)).toEqual(['schema_migrations']);
    expect(await migrate(url, [{ ...broken, sql: 'create table a ()' }])).toEqual(['0001_a.sql']);
  });

  test('that were changed after they had been applied are refused by name', () => {
    const [first] = ours as [Migration, ...Migration[]];
    const done = [{ version: 1, name: first.name, checksum: 'other' }];
    expect(() => pendingMigrations(ours, done)).toThrow(`migration ${first.name} was changed after it was applied`);
  });

  test('are the files with a four-digit number and a name; others are ignored', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
    for (const name of ['0002_b.sql', '0001_a.sql', 'notes.md', '3_c.sql']) await writeFile(join(folder, name), '');
    expect((await migrations(folder)).map(({ name }) => name)).toEqual(['0001_a.sql', '0002_b.sql']);
    await rm(folder, { recursive: true });
  });
});
