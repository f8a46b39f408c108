/** The error for a value that must be unique and already exists. */
import type { Resource, Unique } from '../../resources/definition/resource.ts';
import { type ApiError, conflict, unavailable } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import type { Database } from '../store/database.ts';
import type { Violation } from '../store/database-errors.ts';
import type { Row } from '../store/repository.ts';

/** Name of the unique index of a field, which a violation reports. */
export const uniqueIndex = (resource: Pick<Resource, 'table'>, field: string) => `${resource.table}_${field}`;

/** The columns in which no two rows may be equal. */
export const uniqueColumns = (field: string, unique: Unique): readonly string[] =>
  unique === true ? [field] : [...unique.within, field];

/** What a conflict says about a resource of another account. */
export const USED_ELSEWHERE = 'is already used in another account';

/**
 * If the write broke a unique index: CONFLICT, which names the existing resource if it is of the same account, or UNAVAILABLE if
 * that is gone.
 */
export async function explainUniqueness(
  resource: Resource,
  broken: Violation,
  row: Row,
  db: Database,
): Promise<ApiError | undefined> {
  for (const [field, { unique }] of Object.entries(resource.fields)) {
    if (unique === undefined || broken.kind !== 'unique' || broken.constraint !== uniqueIndex(resource, field))
      continue;
    const columns = uniqueColumns(field, unique);
    const same = columns.map((name, at) => `${name} = $${at + 1}`).join(' and ');
    const statement = {
      text: `select id from ${resource.table} where ${same}`,
      values: columns.map((name) => row[name]),
    };
    const [existing] = await db.query({ ...statement, text: `${statement.text} and ${ofThisAccount()}` });
    const taken = `The ${words(field)} is already taken.`;
    if (!existing && (await db.acrossAccounts().query(statement)).length > 0)
      return conflict(taken, { [`/${field}`]: USED_ELSEWHERE });
    if (!existing) return unavailable(`The resource with the same ${words(field)} has just been deleted; try again.`);
    const id = String(existing.id);
    return conflict(taken, { [`/${field}`]: `is already used by ${id}`, id });
  }
  return undefined;
}
