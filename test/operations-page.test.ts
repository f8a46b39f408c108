/**
 * What docs/operations.md does to the database works as it stands there. Backup and restore need the client programs of
 * PostgreSQL, which the embedded server comes without.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { migrate } from '../src/api/store/migrate.ts';
import { postgres } from './harness.ts';
import { skipFor } from './skip.ts';

const run = promisify(execFile);
/** pg_dump refuses a server that is newer than itself. */
const OLDEST = 18;
const version = await run('pg_dump', ['--version']).then(
  ({ stdout }) => Number(/ (\d+)/.exec(stdout)?.[1]),
  () => undefined,
);
const lacking = (version ?? 0) >= OLDEST ? undefined : `no pg_dump of PostgreSQL ${OLDEST} or later in the PATH`;

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-restore-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The first block of a language below a heading. */
async function blockOf(heading: string, language: string): Promise<string> {
  const page = await readFile(join(import.meta.dirname, '../docs/operations.md'), 'utf8');
  const [section = ''] = page.split(/^##+ /m).filter((text) => text.startsWith(`${heading}\n`));
  const [, text = ''] = new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\``, 'ms').exec(section) ?? [];
  return text;
}

/** The commands below a heading that are PostgreSQL's. */
const commandsOf = async (heading: string) => (await blockOf(heading, 'sh')).replaceAll(/^ *(kubectl .*)?\n/gm, '');

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const TABLES = "select tablename, tableowner from pg_tables where schemaname = 'public' order by 1";

/** A migrated database `tunnels` of a user `tunnels`, as the page has it, while `use` runs. */
async function onDatabase(use: (urls: { ADMIN_URL: string; DATABASE_URL: string }) => Promise<void>): Promise<void> {
  const ADMIN_URL = (await postgres()).url;
  const database = new URL(ADMIN_URL);
  Object.assign(database, { username: 'tunnels', password: 'password', pathname: '/tunnels' });
  const DATABASE_URL = database.href;
  try {
    await query(ADMIN_URL, "create user tunnels password 'password'");
    await query(ADMIN_URL, 'create database tunnels owner tunnels');
    await migrate(DATABASE_URL);
    await use({ ADMIN_URL, DATABASE_URL });
  } finally {
    await query(ADMIN_URL, 'drop database if exists tunnels with (force)');
    await query(ADMIN_URL, 'drop user if exists tunnels');
  }
}

test('a restore brings back the dump, and leaves nothing of what came later', skipFor(lacking), () =>
  onDatabase(async (urls) => {
    const { DATABASE_URL } = urls;
    const env = { PATH: process.env.PATH, HOME: folder, ...urls };
    const typed = async (heading: string) => run('bash', ['-ec', await commandsOf(heading)], { cwd: folder, env });
    const addUser = (id: string) => `insert into users values ('${id}', 'somebody', true, true, now(), now())`;
    await query(DATABASE_URL, addUser('usr_1'));
    const before = await query(DATABASE_URL, TABLES);
    await typed('Backup');

    // As an upgrade does that has to be undone: a new table holds on to what the dump has.
    await query(DATABASE_URL, 'create table later (owner_id text references users)');
    await query(DATABASE_URL, addUser('usr_2'));
    await query(DATABASE_URL, "insert into later values ('usr_1')");
    expect(await typed('Restore')).toEqual({ stdout: '', stderr: '' });

    expect(await query(DATABASE_URL, TABLES)).toEqual(before);
    expect(await query(DATABASE_URL, 'select id from users')).toEqual([{ id: 'usr_1' }]);
    expect(await migrate(DATABASE_URL)).toEqual([]);
  }),
);

test('a second user of the database stands in for the first, whose password changes meanwhile', () =>
  onDatabase(async ({ ADMIN_URL, DATABASE_URL }) => {
    const second = Object.assign(new URL(DATABASE_URL), { username: 'tunnels_b', password: 'another' }).href;
    const statements = (await blockOf("The database's password", 'sql')).replace('…', 'another');
    try {
      await query(ADMIN_URL, statements);
      await query(ADMIN_URL, "alter role tunnels password 'changed'");
      await expect(query(DATABASE_URL, 'select')).rejects.toThrow('password authentication failed');
      expect(await migrate(second)).toEqual([]);
      await query(second, 'create table later ()');
      const owners = (await query(second, TABLES)).map(({ tableowner }) => tableowner);
      expect(new Set(owners)).toEqual(new Set(['tunnels']));
    } finally {
      await query(ADMIN_URL, 'drop user if exists tunnels_b');
    }
  }));
