import { beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/api/store/database.ts';
import { tracedDatabase } from '../../../src/api/store/traced-database.ts';
import { traced } from '../../../src/tracing/tracing.ts';
import { atEnd } from '../../end-of-file.ts';
import { createTestDatabase } from '../../harness.ts';
import { startReceiver } from '../../tracing/receiver.ts';
import { tracingTo } from '../../tracing/tracing.ts';

const receiver = await startReceiver();
const url = await createTestDatabase();
const db = openDatabase({ url, poolSize: 1, statementTimeoutMs: 10_000, connectTimeoutMs: 5_000 });
atEnd(() => receiver.close());
atEnd(() => db.close());

beforeEach(() => void receiver.spans.splice(0));

/** Runs `work` on a traced database, below a span unless told otherwise; returns the spans that were sent. */
async function spansOf(work: (db: Database) => Promise<unknown>, { isBelow = true, at = url } = {}) {
  const tracing = await tracingTo(receiver);
  const own = tracedDatabase(db, tracing, at);
  await traced(isBelow ? tracing : undefined, { name: 'work' }, () => work(own).catch(() => undefined));
  await tracing.stop();
  return receiver.spans;
}

test('the span of a statement names the statement and the database, but none of its values', async () => {
  const text = 'select datname from pg_database where datname = $1';
  const [statement, work] = await spansOf((own) => own.query({ name: 'databases.find', text, values: ['a-value'] }));
  const { hostname, port, pathname } = new URL(url);
  expect(statement).toMatchObject({
    parentId: work?.spanId,
    kind: 'client',
    name: 'databases.find',
    isError: false,
  });
  expect(statement?.attributes).toEqual({
    'db.system.name': 'postgresql',
    'db.namespace': pathname.slice(1),
    'db.query.summary': 'databases.find',
    'server.address': hostname,
    'server.port': Number(port),
  });
  expect(receiver.requests.some(({ body }) => body.includes('a-value'))).toBe(false);
});

test('the spans of a failed statement and its transaction have the error code of PostgreSQL', async () => {
  const spans = await spansOf((own) => own.transaction((tx) => tx.query({ text: 'select 1 / 0', values: [] })));
  const [statement, transaction, work] = spans;
  expect(statement).toMatchObject({ parentId: transaction?.spanId, isError: true, name: 'SELECT' });
  expect(transaction).toMatchObject({ parentId: work?.spanId, isError: true, name: 'transaction', kind: 'client' });
  expect(spans.map(({ attributes }) => attributes['error.type'])).toEqual(['22012', '22012', undefined]);
});

test('the span of a transaction names the database and the server', async () => {
  const at = 'postgres://user:password@db.example/tunnels';
  const spans = await spansOf((own) => own.transaction((tx) => tx.query({ text: 'select 1', values: [] })), { at });
  const place = { 'db.namespace': 'tunnels', 'server.address': 'db.example', 'server.port': 5432 };
  const found = spans.find(({ name }) => name === 'transaction');
  expect(found?.attributes).toEqual({ 'db.system.name': 'postgresql', ...place });
});

test('work outside any span has no spans', async () => {
  const work = async (own: Database) => {
    await own.query({ text: 'select 1', values: [] });
    await own.transaction((tx) => tx.query({ text: 'select 2', values: [] }));
  };
  expect(await spansOf(work, { isBelow: false })).toEqual([]);
});
