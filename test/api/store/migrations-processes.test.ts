/** Migrations as processes run them: several at once, killed in the middle, and releases beside each other. */
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Child, waitForChild } from '../../../dev/processes/child-process.ts';
import { waitFor } from '../../../dev/processes/wait.ts';
import { type Migration, migrate, migrations } from '../../../src/api/store/migrate.ts';
import { atEnd } from '../../end-of-file.ts';
import { createTestDatabase } from '../../harness.ts';
import { ApiProcess, removeFolder, startOnDatabase } from '../faults/api-process.ts';
import { ADMIN_KEY, emptyDatabase, heldTransaction, startTestApi } from '../harness.ts';
import { catalogOf } from './schema/catalog.ts';
import { withClient } from './schema/recorded-rows.ts';
import { expectChangeable, expectExtensible, expectServed } from './schema/served.ts';

const ours = await migrations();
const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-migrations-'));
atEnd(removeFolder(folder));

const rows = (url: string, text: string) =>
  withClient(url, async (client) => (await client.query<Record<string, unknown>>(text)).rows);
const catalog = (url: string) => catalogOf((text) => rows(url, text));
const fromScratch = await catalog(await emptyDatabase());

const history = async (url: string) =>
  (await rows(url, 'select name from schema_migrations order by applied_at, version')).map(({ name }) => name);
const names = ours.map(({ name }) => name);

const started: Child[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) await child.stop();
});

let programs = 0;

/** `tunnel-operator migrate`, as a process. */
function startMigrate(databaseUrl: string): Child {
  const settings = { folder, name: `migrate-${programs++}`, databaseUrl, apiKey: ADMIN_KEY };
  const child = startOnDatabase(['migrate'], settings);
  started.push(child);
  return child;
}

const ended = (child: Child) => waitFor(`${child.name} to end`, () => child.exit(), { timeoutMs: 60_000 });

/** The migrations that a process says it has applied. */
async function appliedBy({ logFile }: Child): Promise<string[]> {
  const log = await readFile(logFile, 'utf8');
  return [...log.matchAll(/^applied (.*)$/gm)].map(([, name = '']) => name);
}

const MIGRATING = `
  select pid, wait_event_type || ' ' || wait_event as waits_for from pg_stat_activity
   where datname = current_database() and application_name = 'tunnel-operator migrate'`;

/** Blocks every migration of this database just before it is committed. */
async function heldBack(databaseUrl: string) {
  const held = await heldTransaction(databaseUrl);
  await held.query('lock table schema_migrations in share mode');
  const untilThere = (child: Child) =>
    waitForChild(child, 'be in the middle of a migration', async () => {
      return (await rows(databaseUrl, MIGRATING)).some(({ waits_for }) => waits_for === 'Lock relation');
    });
  return { ...held, untilThere };
}

describe('processes that start at once on an empty database', () => {
  test('all start, and each migration runs once', async () => {
    const databaseUrl = await createTestDatabase();
    const start = (name: string) => ApiProcess.start({ folder, name, databaseUrl, apiKey: ADMIN_KEY });
    const migrating = [startMigrate(databaseUrl), startMigrate(databaseUrl)];
    const apis = await Promise.all(['one', 'other'].map(start));
    for (const api of apis) {
      atEnd(() => api.stop());
      expect((await api.client.users.page()).items).toHaveLength(1);
    }
    for (const child of migrating) expect(await ended(child)).toMatchObject({ code: 0 });

    expect(await history(databaseUrl)).toEqual(names);
    expect(await catalog(databaseUrl)).toEqual(fromScratch);
    const logged = await Promise.all(['one', 'other'].map((name) => readFile(join(folder, `${name}.log`), 'utf8')));
    const line = z.object({ applied: z.array(z.string()) });
    const byApis = logged
      .flatMap((log) => log.split('\n'))
      .filter((text) => text.includes('"applied"'))
      .flatMap((text) => line.parse(JSON.parse(text)).applied);
    const byPrograms = (await Promise.all(migrating.map(appliedBy))).flat();
    expect([...byApis, ...byPrograms].sort()).toEqual(names);
  });
});

describe('a process that is killed while it migrates', () => {
  test('leaves nothing of its migration, and the next run applies the rest', async () => {
    const version = 15;
    const databaseUrl = await createTestDatabase();
    await migrate(databaseUrl, ours.slice(0, version - 1));
    const before = await catalog(databaseUrl);
    const held = await heldBack(databaseUrl);
    const killed = startMigrate(databaseUrl);
    await held.untilThere(killed);
    await killed.stop({ signal: 'SIGKILL' });
    await held.commit();
    // Only now does its session notice that the process has gone.
    await waitFor('its session to end', async () => (await rows(databaseUrl, MIGRATING)).length === 0);
    expect(await catalog(databaseUrl)).toEqual(before);
    expect(await migrate(databaseUrl)).toEqual(names.slice(version - 1));
    expect(await catalog(databaseUrl)).toEqual(fromScratch);
    expect(await history(databaseUrl)).toEqual(names);
  });
});

describe('a release that is older than the database', () => {
  /** While this release runs, a later one may only add to the schema. */
  const later: Migration = {
    version: 9999,
    name: '9999_later.sql',
    checksum: 'x',
    sql: `
      do $$ declare name text; begin
        for name in select tablename from pg_tables where schemaname = 'public' and tablename <> 'schema_migrations' loop
          execute format('alter table %I add column later_text text, add column later_number integer not null default 7', name);
        end loop;
      end $$;
      create table later (id text primary key);`,
  };

  test('keeps serving after the database is migrated under it', async () => {
    const databaseUrl = await emptyDatabase();
    const api = await startTestApi({ databaseUrl });
    // Every statement is prepared for the old schema now.
    await expectExtensible(api);
    await expectServed(api);
    await expectChangeable(api);
    expect(await migrate(databaseUrl, [...ours, later])).toEqual([later.name]);
    expect((await api.anonymous.get('/readyz')).status).toBe(200);
    await expectServed(api);
    await expectChangeable(api);
    await expectExtensible(api, 2000);
  });
});
