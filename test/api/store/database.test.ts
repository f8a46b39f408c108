import { describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/api/store/database.ts';
import { atEnd, emptyDatabase } from '../harness.ts';

async function opened(poolSize: number): Promise<Database> {
  const url = await emptyDatabase();
  const db = openDatabase({ url, poolSize, statementTimeoutMs: 10_000, connectTimeoutMs: 5_000 });
  atEnd(() => db.close());
  return db;
}

const run = (db: Pick<Database, 'query'>, text: string, name?: string) =>
  db.query({ text, values: [], ...(name === undefined ? {} : { name }) });
const processOf = async (db: Database) => (await run(db, 'select pg_backend_pid() as pid'))[0]?.pid;

describe('what a statement returns', () => {
  test('is what the API shows: RFC 3339 in UTC, counters as numbers, JSON as its value', async () => {
    const db = await opened(1);
    const text = `select null::text as nothing, 5::bigint as count, true as yes, '{"a":[1]}'::json as json,
      array['x', null] as list, '2026-11-21 10:40:00.9+02'::timestamptz as at, '2026-01-02 03:04:05Z'::timestamptz as sharp,
      generate_series(1, 2) as row`;
    const row = { nothing: null, count: 5, yes: true, json: { a: [1] }, list: ['x', null] };
    const times = { at: '2026-11-21T08:40:00.900Z', sharp: '2026-01-02T03:04:05.000Z' };
    // The second time by what is known from the first.
    for (let time = 0; time < 2; time++) {
      expect(await run(db, text, 'shown')).toEqual([
        { ...row, ...times, row: 1 },
        { ...row, ...times, row: 2 },
      ]);
    }
  });

  test('may change while connections that know it as it was are open', async () => {
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
    // The connection that knows it as it was is gone.
    for (let time = 0; time < 3; time++) expect(await run(db, 'select * from things', 'things')).toEqual(changed);
  });

  test('and cannot be read is an error of that statement alone', async () => {
    const db = await opened(1);
    const text = "select 'infinity'::timestamptz as at";
    for (const name of [undefined, 'endless']) await expect(run(db, text, name)).rejects.toThrow('cannot be read');
    expect(await run(db, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});

describe('a statement that Postgres refuses', () => {
  test('leaves its connection in use', async () => {
    const db = await opened(1);
    const before = await processOf(db);
    await expect(run(db, 'select 1/0', 'refused')).rejects.toMatchObject({ code: '22012' });
    await expect(run(db, 'nonsense')).rejects.toMatchObject({ code: '42601' });
    await expect(db.transaction((tx) => run(tx, 'select 1/0', 'refused'))).rejects.toMatchObject({ code: '22012' });
    expect(await processOf(db)).toBe(before);
    expect(db.usage()).toEqual({ total: 1, idle: 1, waiting: 0 });
  });

  test('because it ends the connection costs the connection', async () => {
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
});
