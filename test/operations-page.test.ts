/** Backup and restore as in docs/operations.md. Needs PostgreSQL's client programs, which the embedded server lacks. */
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

/** PostgreSQL's commands in the first block below a heading. */
async function commandsOf(heading: string): Promise<string> {
  const page = await readFile(join(import.meta.dirname, '../docs/operations.md'), 'utf8');
  const [section = ''] = page.split(/^##+ /m).filter((text) => text.startsWith(`${heading}\n`));
  const [, text = ''] = /^ *```sh\n(.*?)^ *```/ms.exec(section) ?? [];
  return text.replaceAll(/^ *(kubectl .*)?\n/gm, '');
}

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

test('a restore brings back the dump, and removes what was added later', skipFor(lacking), async () => {
  // A migrated database with a user of its own, as on the page.
  const ADMIN_URL = (await postgres()).url;
  const owned = Object.assign(new URL(ADMIN_URL), { username: 'tunnels', password: 'password', pathname: '/tunnels' });
  const DATABASE_URL = owned.href;
  const env = { PATH: process.env.PATH, HOME: folder, ADMIN_URL, DATABASE_URL };
  const typed = async (heading: string) => run('bash', ['-ec', await commandsOf(heading)], { cwd: folder, env });
  const addUser = (id: string) =>
    query(DATABASE_URL, `insert into users values ('${id}', 'somebody', true, true, now(), now())`);
  try {
    await query(ADMIN_URL, "create user tunnels password 'password'");
    await query(ADMIN_URL, 'create database tunnels owner tunnels');
    await migrate(DATABASE_URL);
    await addUser('usr_1');
    const before = await query(DATABASE_URL, TABLES);
    await typed('Backup');

    // Like an upgrade that has to be undone: a new table refers to a row in the dump.
    await query(DATABASE_URL, 'create table later (owner_id text references users)');
    await addUser('usr_2');
    await query(DATABASE_URL, "insert into later values ('usr_1')");
    expect(await typed('Restore')).toEqual({ stdout: '', stderr: '' });

    expect(await query(DATABASE_URL, TABLES)).toEqual(before);
    expect(await query(DATABASE_URL, 'select id from users')).toEqual([{ id: 'usr_1' }]);
    expect(await migrate(DATABASE_URL)).toEqual([]);
  } finally {
    await query(ADMIN_URL, 'drop database if exists tunnels with (force)');
    await query(ADMIN_URL, 'drop user if exists tunnels');
  }
});
