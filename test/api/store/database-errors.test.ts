import { once } from 'node:events';
import { appendFile, chmod, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startPostgres } from '../../../dev/database/postgres.ts';
import { type Database, openDatabase } from '../../../src/api/store/database.ts';
import { transientCondition } from '../../../src/api/store/database-errors.ts';
import { atEnd } from '../../end-of-file.ts';

// Of its own: to exhaust its locks would fail the statements of every other test.
const postgres = await startPostgres();
atEnd(() => postgres.stop());

function open(url: string): Database {
  const db = openDatabase({ url, poolSize: 1, statementTimeoutMs: 30_000, connectTimeoutMs: 5_000 });
  atEnd(() => db.close());
  return db;
}

const run = (db: Pick<Database, 'query'>, text: string, values: unknown[] = []) => db.query({ text, values });

/** What Postgres says to these statements, in one session. */
async function failureOf(...texts: string[]): Promise<unknown> {
  const db = open(postgres.url);
  return db
    .transaction(async (tx) => {
      for (const text of texts) await run(tx, text);
    })
    .then(
      () => undefined,
      (error: unknown) => error,
    );
}

/** Does that to a session while it sleeps. */
async function sleeperAfter(act: 'pg_cancel_backend' | 'pg_terminate_backend'): Promise<unknown> {
  const url = postgres.url;
  const [sleeper, other] = [open(url), open(url)];
  const failure = run(sleeper, 'select pg_sleep(600)').catch((error: unknown) => error);
  const text = `select ${act}(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  while ((await run(other, text)).length === 0);
  return failure;
}

describe('passes by itself, and PostgreSQL calls it', () => {
  test('query_canceled', async () => {
    const failure = await sleeperAfter('pg_cancel_backend');
    expect(failure).toMatchObject({ code: '57014' });
    expect(transientCondition(failure)).toBe('query_canceled');
  });

  test('admin_shutdown', async () => {
    const failure = await sleeperAfter('pg_terminate_backend');
    expect(failure).toMatchObject({ code: '57P01' });
    expect(transientCondition(failure)).toBe('admin_shutdown');
  });

  test('too_many_connections', async () => {
    const url = new URL(postgres.url);
    const name = `few_${process.pid}`;
    const owner = open(url.href);
    await run(owner, `create role ${name} login password 'few' connection limit 0`);
    url.username = name;
    url.password = 'few';
    const failure = await run(open(url.href), 'select 1').catch((error: unknown) => error);
    await run(owner, `drop role ${name}`);
    expect(failure).toMatchObject({ code: '53300' });
    expect(transientCondition(failure)).toBe('too_many_connections');
  });

  test('out_of_memory', async () => {
    const failure = await failureOf('select pg_advisory_xact_lock(n) from generate_series(1, 10000000) n');
    expect(failure).toMatchObject({ code: '53200' });
    expect(transientCondition(failure)).toBe('out_of_memory');
  });

  test('configuration_limit_exceeded', async () => {
    const sort = 'select count(*) from (select n from generate_series(1, 1000000) n order by random()) s';
    const failure = await failureOf("set temp_file_limit = '64kB'", "set work_mem = '64kB'", sort);
    expect(failure).toMatchObject({ code: '53400' });
    expect(transientCondition(failure)).toBe('configuration_limit_exceeded');
  });

  test('cannot_connect_now', async () => {
    // A standby that nobody may read from.
    const signal = join(postgres.dataDir, 'standby.signal');
    await writeFile(signal, '');
    await chmod(signal, 0o666);
    await appendFile(join(postgres.dataDir, 'postgresql.conf'), '\nhot_standby = off\n');
    await postgres.restart();
    const failure = await run(open(postgres.url), 'select 1').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: '57P03' });
    expect(transientCondition(failure)).toBe('cannot_connect_now');
  });

  // As of a proxy that is starting, and of a server that cannot make another process.
  test.each(['N', 'E'])('a connection without TLS, where the answer to the wish for it is %s', async (answer) => {
    const server = createServer((socket) => void socket.on('error', () => {}).once('data', () => socket.end(answer)));
    atEnd(() => new Promise((resolve) => server.close(resolve)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const db = open(`postgres://user@127.0.0.1:${port}/database?sslmode=no-verify`);
    const failure = await run(db, 'select 1').catch((error: unknown) => error);
    expect(transientCondition(failure)).toBe('connection_lost');
  });
});
