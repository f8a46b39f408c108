/** Waiting for locks without holding others up for long, and telling who is waited for. */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { z } from 'zod';
import { backoff } from '../../retry/backoff.ts';
import { transientCondition } from './database-errors.ts';

/** A session that holds what another one waits for, or waits for it, too. */
export interface Blocker {
  pid: number;
  application_name: string;
}

/** As people look for them in pg_stat_activity: `4711 (psql)`. */
export const saidOf = (blockers: readonly Blocker[]): string =>
  blockers.map(({ pid, application_name }) => `${pid} (${application_name})`).join(', ');

/** Whoever comes after a statement that waits for a table waits as long, even to read it. */
export const LONGEST_LOCK_WAIT_MS = 2_000;

/** How long a wait lasts before it is told. */
const TOLD_AFTER_MS = 1_000;

const PAUSE = { firstMs: 500, longestMs: 5_000 };

const blockers = z.array(z.object({ pid: z.number(), application_name: z.string() }));

const BLOCKERS = `
  select pid, coalesce(nullif(application_name, ''), 'unknown') as application_name
    from pg_stat_activity where pid = any(pg_blocking_pids($1)) order by pid`;

/**
 * Runs `work` on a session, again for as long as its lock_timeout ends it.
 * @param connect opens another session of the same database, from which this one can be seen to wait
 * @param onWait told of each new set of sessions that are waited for
 */
export async function patiently<T>(
  pid: number,
  work: () => Promise<T>,
  { connect, onWait }: { connect: () => Promise<pg.Client>; onWait: (blockers: readonly Blocker[]) => void },
): Promise<T> {
  const done = new AbortController();
  const watching = watch(pid, connect, onWait, done.signal).catch(() => undefined);
  try {
    for (let failures = 1; ; failures++) {
      try {
        return await work();
      } catch (error) {
        if (transientCondition(error) !== 'lock_not_available') throw error;
        await delay(backoff(failures, PAUSE));
      }
    }
  } finally {
    done.abort();
    await watching;
  }
}

async function watch(
  pid: number,
  connect: () => Promise<pg.Client>,
  onWait: (blockers: readonly Blocker[]) => void,
  signal: AbortSignal,
): Promise<void> {
  await delay(TOLD_AFTER_MS, undefined, { signal });
  const client = await connect();
  try {
    for (let told = ''; !signal.aborted; await delay(TOLD_AFTER_MS / 4, undefined, { signal })) {
      const found = blockers.parse((await client.query(BLOCKERS, [pid])).rows);
      const now = JSON.stringify(found);
      // Between two attempts it waits for nobody.
      if (found.length === 0 || now === told) continue;
      told = now;
      onWait(found);
    }
  } finally {
    await client.end();
  }
}
