import { existsSync } from 'node:fs';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase } from '../../dev/database/databases.ts';
import { type Postgres, startPostgres } from '../../dev/database/postgres.ts';
import { isRunning } from '../../src/postgres/is-running.ts';
import { createTestDatabase, postgres } from '../harness.ts';

/** The first column of the first row. */
async function ask(url: string, sql: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query({ text: sql, rowMode: 'array' });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}

describe('the shared Postgres', () => {
  it('gives each file its own database', async () => {
    const [one, two] = [await createTestDatabase(), await createTestDatabase()];
    await ask(one, 'CREATE TABLE mine (id int)');
    expect(await ask(one, "SELECT to_regclass('mine')::text")).toBe('mine');
    expect(await ask(two, "SELECT to_regclass('mine')::text")).toBeNull();
  });

  it('prepares a template once and clones it', async () => {
    let prepared = 0;
    const prepare = async (url: string) => {
      prepared++;
      await ask(url, 'CREATE TABLE seeded AS SELECT 42 AS answer');
    };
    const template = { name: 'postgres_test', prepare };
    const urls = await Promise.all([createTestDatabase(template), createTestDatabase(template)]);
    for (const url of urls) expect(await ask(url, 'SELECT answer FROM seeded')).toBe(42);
    expect(prepared).toBe(1);
  });

  it('creates a template again if its preparation failed', async () => {
    const name = 'postgres_test_failing';
    const failing = createTestDatabase({ name, prepare: () => Promise.reject(new Error('bad migration')) });
    await expect(failing).rejects.toThrow('bad migration');
    const url = await createTestDatabase({ name, prepare: async () => {} });
    expect(await ask(url, 'SELECT 1')).toBe(1);
  });

  it('sorts and stores text as UTF-8', async () => {
    expect(await ask((await postgres()).url, 'SHOW server_encoding')).toBe('UTF8');
  });
});

describe('a dedicated Postgres', () => {
  let server: Postgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('keeps what was committed when it crashes, and comes back on the same port', async () => {
    const url = await createDatabase(server.url, 'kept');
    await ask(url, 'CREATE TABLE kept AS SELECT 7 AS n');
    await server.crash();
    await expect(ask(url, 'SELECT 1')).rejects.toThrow('ECONNREFUSED');
    await server.restart();
    expect(await ask(url, 'SELECT n FROM kept')).toBe(7);
    await server.restart();
    expect(await ask(url, 'SELECT n FROM kept')).toBe(7);
  });

  it('leaves no process and no file behind', async () => {
    const stats = await server.stats();
    expect(stats).toHaveLength(1);
    await server.stop();
    expect(stats.filter(({ pid }) => isRunning(pid))).toEqual([]);
    expect(existsSync(server.dataDir)).toBe(false);
  });
});
