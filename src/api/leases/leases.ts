/**
 * Leases in the database: of all processes, one works on a named job at a time. A lease ends by itself unless it is renewed,
 * so another process takes over when its holder dies. Each claim and each release raises the fence. A write that checks the
 * fence (`heldBy`) cannot take effect after the job has been released or claimed by another process. Times are the database's.
 */
import { z } from 'zod';
import type { Executor } from '../store/database.ts';

export interface Lease {
  readonly name: string;
  readonly fence: number;
}

const leases = z.array(z.object({ name: z.string(), fence: z.number() }));

/** Claims the jobs that nobody holds; returns those that the caller holds from now on. */
export async function claimLeases(
  db: Executor,
  names: readonly string[],
  { holder, ms }: { holder: string; ms: number },
): Promise<Lease[]> {
  if (names.length === 0) return [];
  // In order of name, so that two processes that claim the same jobs cannot wait for each other.
  const text = `
    insert into leases as l (name, holder, fence, until)
    select name, $2, 1, clock_timestamp() + $3 * interval '1 millisecond'
      from unnest($1::text[]) name order by name collate "C"
    on conflict (name) do update set holder = excluded.holder, fence = l.fence + 1, until = excluded.until
     where l.until < clock_timestamp()
    returning name, fence`;
  return leases.parse(await db.query({ name: 'leases.claim', text, values: [names, holder, ms] }));
}

/** Extends leases; returns those that are still held. The others have been claimed by another process. */
export async function renewLeases(db: Executor, held: readonly Lease[], ms: number): Promise<Lease[]> {
  if (held.length === 0) return [];
  const text = `
    update leases l set until = clock_timestamp() + $3 * interval '1 millisecond'
      from unnest($1::text[], $2::bigint[]) h (name, fence) where l.name = h.name and l.fence = h.fence
    returning l.name, l.fence`;
  return leases.parse(await db.query({ name: 'leases.renew', text, values: [...columns(held), ms] }));
}

/** Lets other processes claim the jobs at once. A renewal that is under way meanwhile must not extend them: hence the fence. */
export async function releaseLeases(db: Executor, held: readonly Lease[]): Promise<void> {
  if (held.length === 0) return;
  const text = `
    update leases l set until = least(l.until, clock_timestamp()), fence = l.fence + 1
      from unnest($1::text[], $2::bigint[]) h (name, fence) where l.name = h.name and l.fence = h.fence`;
  await db.query({ name: 'leases.release', text, values: columns(held) });
}

/** Forgets jobs that nobody has worked on for a day: until then, their fences must keep counting. */
export async function dropEndedLeases(db: Executor): Promise<void> {
  await db.query({ text: "delete from leases where until < clock_timestamp() - interval '1 day'", values: [] });
}

/**
 * A query that finds a row while the lease in parameters `$first` (its name) and the next one (its fence) is held. It locks
 * that row, so that nobody claims the job before the statement's transaction ends.
 */
export const heldBy = (first: number) =>
  `select 1 from leases where name = $${first} and fence = $${first + 1}::bigint for share`;

const columns = (held: readonly Lease[]) => [held.map(({ name }) => name), held.map(({ fence }) => fence)];
