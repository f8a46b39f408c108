import { randomBytes } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { urlOfSameDatabase } from '../../../src/api/store/connection-url.ts';
import {
  type Database,
  type DatabaseObserver,
  type DatabaseOptions,
  openDatabase,
} from '../../../src/api/store/database.ts';
import { atEnd } from '../../end-of-file.ts';
import { emptyDatabase } from '../harness.ts';

async function opened(
  poolSize: number,
  { statementTimeoutMs = 10_000, connectTimeoutMs = 5_000, url, ...others }: Partial<DatabaseOptions> = {},
): Promise<Database> {
  const timeouts = { statementTimeoutMs, connectTimeoutMs };
  const db = openDatabase({ url: url ?? (await emptyDatabase()), poolSize, ...timeouts, ...others });
  atEnd(() => db.close());
  return db;
}

const run = (db: Pick<Database, 'query'>, text: string, name?: string) =>
  db.query({ text, values: [], ...(name === undefined ? {} : { name }) });
const processOf = async (db: Database) => (await run(db, 'select pg_backend_pid() as pid'))[0]?.pid;

describe('the result of a statement', () => {
  test('may change its columns while connections that have prepared it are open', async () => {
    const db = await opened(2);
    await run(db, "create table things as select 1 as a, 'x' as b");
    await db.transaction(async (first) => {
      expect(await run(first, 'select * from things', 'things')).toEqual([{ a: 1, b: 'x' }]);
    });
    await run(db, "alter table things alter a type timestamptz using '2026-11-21Z', drop b, add c int");
    const changed = [{ a: '2026-11-21T00:00:00.000Z', c: null }];
    const whole = db.transaction(async (first) => {
      // On a connection that has not prepared it yet, since the transaction holds the other one.
      expect(await run(db, 'select * from things', 'things')).toEqual(changed);
      await run(first, 'select * from things', 'things');
    });
    await expect(whole).rejects.toMatchObject({ code: '0A000', statement: 'things' });
    // The connection with the outdated statement is gone.
    for (let time = 0; time < 3; time++) expect(await run(db, 'select * from things', 'things')).toEqual(changed);
  });

  test('that cannot be parsed is an error of that statement alone', async () => {
    const db = await opened(1);
    const text = "select 'infinity'::timestamptz as at";
    for (const name of [undefined, 'endless']) {
      await expect(run(db, text, name)).rejects.toMatchObject({
        message: 'Invalid time value',
        statement: name ?? text,
      });
    }
    expect(await run(db, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('a statement that Postgres refuses', () => {
  test('keeps its connection', async () => {
    const db = await opened(1);
    const before = await processOf(db);
    await expect(run(db, 'select 1/0', 'refused')).rejects.toMatchObject({ code: '22012' });
    await expect(run(db, 'nonsense')).rejects.toMatchObject({ code: '42601' });
    await expect(db.transaction((tx) => run(tx, 'select 1/0', 'refused'))).rejects.toMatchObject({ code: '22012' });
    expect(await processOf(db)).toBe(before);
    expect(db.usage()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });

  test('because the connection is terminated gets a new connection', async () => {
    const db = await opened(1);
    const before = await processOf(db);
    const end = 'select pg_terminate_backend(pg_backend_pid())';
    const ended = { code: '57P01', statement: end };
    await expect(run(db, end)).rejects.toMatchObject(ended);
    await expect(db.transaction((tx) => run(tx, end))).rejects.toMatchObject(ended);
    const after = await processOf(db);
    expect(after).not.toBe(before);
    expect(db.usage()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });

  test('because the server is read-only gets a new connection, which may lead to the primary', async () => {
    const db = await opened(1);
    await run(db, 'set default_transaction_read_only = on');
    await expect(run(db, 'create table things ()')).rejects.toMatchObject({ code: '25006' });
    await run(db, 'create table things ()');
  });
});

describe('a timeout limits', () => {
  test('the wait for a connection while all are in use', async () => {
    const db = await opened(1, { connectTimeoutMs: 100 });
    // On a busy machine, opening the connection may take longer than that.
    await vi.waitFor(() => run(db, 'select 1'), { timeout: 30_000 });
    await db.transaction(async () => {
      await expect(run(db, 'select 1')).rejects.toThrow('timeout exceeded when trying to connect');
      expect(db.usage()).toEqual({ total: 1, idle: 0, waiting: 0 });
    });
    expect(await run(db, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('the wait for a statement', async () => {
    const db = await opened(1, { statementTimeoutMs: 100 });
    await expect(run(db, 'select pg_sleep(600)')).rejects.toMatchObject({ code: '57014' });
  });

  test('the wait for a lock, to the same time as a statement', async () => {
    const url = await emptyDatabase();
    const [holder, other] = [await opened(1, { url }), await opened(1, { url, statementTimeoutMs: 100 })];
    await holder.transaction(async (tx) => {
      await run(tx, 'select pg_advisory_xact_lock(1)');
      const refused = run(other, 'select pg_advisory_xact_lock(1)');
      // Either of the two limits may be noticed first.
      await expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/^(55P03|57014)$/) });
    });
    const limits = `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`;
    expect(await run(other, limits)).toEqual([{ lock: '100ms', statement: '100ms', idle: '200ms' }]);
  });

  test('the wait for the next statement of a transaction: the server ends it and releases its locks', async () => {
    const url = await emptyDatabase();
    const [forgetful, other] = [await opened(1, { url, statementTimeoutMs: 100 }), await opened(1, { url })];
    const forgotten = forgetful.transaction(async (tx) => {
      await run(tx, 'select pg_advisory_xact_lock(1)');
      await run(other, 'select pg_advisory_xact_lock(1)');
      await run(tx, 'select 1');
    });
    await expect(forgotten).rejects.toMatchObject({ message: expect.stringMatching(/idle|terminated|not queryable/) });
    expect(await run(forgetful, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

test('the observer learns what ran, how long it took, and what failed', async () => {
  const seen: string[] = [];
  const observer: DatabaseObserver = {
    ran: (command, seconds) => void seen.push(`${command}${seconds > 0 && seconds < 60 ? '' : ` took ${seconds} s`}`),
    failed: (error) => void seen.push(z.object({ code: z.string() }).parse(error).code),
  };
  const url = await emptyDatabase();
  const db = await opened(1, { url, observer });
  await db.transaction((tx) => run(tx, 'select 1'));
  await expect(run(db, 'select 1/0')).rejects.toMatchObject({ code: '22012' });
  const nowhere = new URL(url);
  nowhere.pathname = '/nowhere';
  await expect(run(await opened(1, { url: nowhere.href, observer }), 'select 1')).rejects.toThrow();
  expect(seen).toEqual(['BEGIN', 'SELECT', 'COMMIT', 'undefined', '22012', '3D000']);
});

test('a new connection has the latest password, and leads to the same database', async () => {
  const first = await emptyDatabase();
  const admin = await opened(1, { url: first });
  const role = `role_${randomBytes(5).toString('hex')}`;
  await run(admin, `create role ${role} login password 'one'`);
  const withPassword = (password: string, path = new URL(first).pathname) =>
    Object.assign(new URL(first), { username: role, password, pathname: path }).href;
  const moved = vi.fn();
  let latest = withPassword('one');
  const db = await opened(1, { url: latest, latestUrl: urlOfSameDatabase(latest, () => latest, moved) });
  expect(await run(db, 'select current_user as role')).toEqual([{ role }]);

  await run(admin, `alter role ${role} password 'two'`);
  await run(admin, `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
  const refused = () => expect(run(db, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  // The pool may still hold the connection that was ended.
  await vi.waitFor(refused, { timeout: 10_000 });
  latest = withPassword('two', '/elsewhere');
  await refused();
  await refused();
  expect(moved).toHaveBeenCalledTimes(1);
  latest = withPassword('two');
  expect(await run(db, 'select current_user as role')).toEqual([{ role }]);
  await run(admin, `drop role ${role}`);
});

test('a connection sets its application name, time zone and date style', async () => {
  const url = await emptyDatabase();
  const admin = await opened(1, { url });
  const name = new URL(url).pathname.slice(1);
  // The settings of the database must not matter.
  await run(admin, `alter database "${name}" set TimeZone = 'Asia/Tokyo'`);
  await run(admin, `alter database "${name}" set DateStyle = 'German'`);
  const db = await opened(1, { url });
  const text = `select application_name as name, current_setting('TimeZone') as zone, current_setting('DateStyle') as style
    from pg_stat_activity where pid = pg_backend_pid()`;
  expect(await run(db, text)).toEqual([{ name: 'tunnel-operator', zone: 'UTC', style: 'ISO, MDY' }]);
});
