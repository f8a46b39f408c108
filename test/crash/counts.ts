/**
 * Counts the resources created and deleted in the API: the final state alone would hide one that was created twice and
 * deleted once. Only for test files.
 */
import type { Stage } from './stage.ts';

/** By event type, such as `ip_policy_created.v0`; types that did not occur are left out. */
export type Counts = Readonly<Record<string, number>>;

/** The id of the newest event in the API. */
export async function lastEvent(stage: Stage): Promise<unknown> {
  return (await stage.query('select max(id) as last from events'))[0]?.last;
}

/** Counts what happened after `event`, except to resources made only for others to refer to. */
export async function countsSince(stage: Stage, event: unknown): Promise<Counts> {
  const text = `select type, count(*)::int as times from events
    where id > $1 and resource_id <> all($2) and type ~ '_(created|deleted)\\.' group by type order by type`;
  const rows = await stage.query(text, [event, stage.others]);
  return Object.fromEntries(rows.map(({ type, times }) => [String(type), Number(times)]));
}

/**
 * In sentences, the types that occurred more often than in `most`; empty if there are none.
 * @param tolerated how many more of each type are accepted
 */
export function excess(counts: Counts, most: Counts, tolerated = 0): string[] {
  const found = Object.entries(counts).filter(([type, times]) => times > (most[type] ?? 0) + tolerated);
  return found.map(([type, times]) => `${type} ${times} times, not ${most[type] ?? 0}`);
}
