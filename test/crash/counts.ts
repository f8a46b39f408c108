/**
 * How many resources were created and deleted in the API: the end alone does not tell that something was made twice, and
 * one of the two deleted again. Only for test files.
 */
import type { Stage } from './stage.ts';

/** By the type of the event, as in `ip_policy_created.v0`; without those that are zero. */
export type Counts = Readonly<Record<string, number>>;

/** The last event of the API so far. */
export async function lastEvent(stage: Stage): Promise<unknown> {
  return (await stage.query('select max(id) as last from events'))[0]?.last;
}

/** What has happened after that event, but for what is made for others to refer to. */
export async function countsSince(stage: Stage, event: unknown): Promise<Counts> {
  const text = `select type, count(*)::int as times from events
    where id > $1 and resource_id <> all($2) and type ~ '_(created|deleted)\\.' group by type order by type`;
  const rows = await stage.query(text, [event, stage.others]);
  return Object.fromEntries(rows.map(({ type, times }) => [String(type), Number(times)]));
}

/**
 * In sentences, what there was more of than in the other counts; empty if there was not.
 * @param tolerated this many more of each type are none
 */
export function excess(counts: Counts, most: Counts, tolerated = 0): string[] {
  const found = Object.entries(counts).filter(([type, times]) => times > (most[type] ?? 0) + tolerated);
  return found.map(([type, times]) => `${type} ${times} times, not ${most[type] ?? 0}`);
}
