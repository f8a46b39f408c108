/** Which of the resources named in idempotency records still exist. */
import { FAMILIES } from '../../resources/families.ts';
import type { Executor } from '../store/database.ts';

/** Tables by the prefix of the ids in them. */
const TABLES: ReadonlyMap<string, string> = new Map(FAMILIES.map(({ prefix, table }) => [prefix, table]));

/** The ids that exist. Runs one query per family. */
export async function existing(db: Executor, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (const [text, values] of Map.groupBy(ids, queryFor)) {
    if (text === undefined) continue;
    for (const { id } of await db.query({ text, values: [values] })) found.add(String(id));
  }
  return found;
}

function queryFor(id: string): string | undefined {
  const [own = '', source] = id.split('/');
  const table = TABLES.get(own.slice(0, own.lastIndexOf('_')));
  if (table === undefined) return undefined;
  if (source === undefined) return `select id from ${table} where id = any($1)`;
  // A source has no id of its own: it is the type within its subscription.
  return `
    select given.id from unnest($1::text[]) given (id)
      join ${table} owner on owner.id = split_part(given.id, '/', 1) and split_part(given.id, '/', 2) = any(owner.sources)`;
}
