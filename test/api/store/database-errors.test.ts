import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/api/store/database.ts';
import { transientCondition } from '../../../src/api/store/database-errors.ts';
import { atEnd } from '../../end-of-file.ts';
import { createTestDatabase } from '../../harness.ts';

const databaseUrl = await createTestDatabase();

function open(url: string): Database {
  const db = openDatabase({ url, poolSize: 1, statementTimeoutMs: 30_000, connectTimeoutMs: 5_000 });
  atEnd(() => db.close());
  return db;
}

const run = (db: Pick<Database, 'query'>, text: string, values: unknown[] = []) => db.query({ text, values });

/** Cancels or terminates a sleeping session, and returns its error. */
async function sleeperAfter(act: 'pg_cancel_backend' | 'pg_terminate_backend'): Promise<unknown> {
  const [sleeper, other] = [open(databaseUrl), open(databaseUrl)];
  const failure = run(sleeper, 'select pg_sleep(600)').catch((error: unknown) => error);
  const text = `select ${act}(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  while ((await run(other, text)).length === 0);
  return failure;
}

describe('a transient failure', () => {
  test.each([
    ['query_canceled', 'pg_cancel_backend', '57014'],
    ['admin_shutdown', 'pg_terminate_backend', '57P01'],
  ] as const)('is %s', async (name, act, code) => {
    const failure = await sleeperAfter(act);
    expect(failure).toMatchObject({ code });
    expect(transientCondition(failure)).toBe(name);
  });

  // N is from a proxy that is starting, E from a server that cannot start another process.
  test.each(['N', 'E'])('is a connection whose TLS request is answered with %s', async (answer) => {
    const server = createServer((socket) => void socket.on('error', () => {}).once('data', () => socket.end(answer)));
    atEnd(() => new Promise((resolve) => server.close(resolve)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const db = open(`postgres://user@127.0.0.1:${port}/database?sslmode=no-verify`);
    const failure = await run(db, 'select 1').catch((error: unknown) => error);
    expect(transientCondition(failure)).toBe('connection_lost');
  });
});
