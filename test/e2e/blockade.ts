/** Makes writes of the management API wait in the database. */
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { eventually } from './stack.ts';

interface Blockade {
  /** Resolves once a query waits for the lock. */
  waiting(): Promise<void>;
  release(): Promise<unknown>;
}

/** @param mode `exclusive` lets reads pass, `access exclusive` blocks them as well */
export async function blockPolicies(databaseUrl: string, mode: 'exclusive' | 'access exclusive'): Promise<Blockade> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`begin; lock table ip_policies in ${mode} mode`);
  return {
    waiting: () =>
      eventually(async () => {
        // Within a transaction, PostgreSQL keeps returning the activity as of the first query.
        await client.query('select pg_stat_clear_snapshot()');
        const text = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        expect((await client.query(text)).rowCount).toBeGreaterThan(0);
      }),
    release: () => client.query('rollback'),
  };
}
