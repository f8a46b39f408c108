/** To which account something belongs. */
import type { Resource } from '../../resources/definition/resource.ts';
import type { Executor } from './database.ts';

/** The account of a resource, for work that starts without one; undefined if the resource is gone. */
export async function accountOf(
  db: Executor,
  { table }: Pick<Resource, 'table'>,
  id: string,
): Promise<string | undefined> {
  const text = `select account_id from ${table} where id = $1`;
  const [row] = await db.query({ name: `${table}.account`, text, values: [id] });
  return row && String(row.account_id);
}
