/** The header with which platform admins choose the account of a request. */
import { account } from '../../resources/account.ts';
import { invalidByRule, permissionDenied } from '../errors/errors.ts';
import type { Executor } from '../store/database.ts';
import type { Caller } from './authentication.ts';

/**
 * The caller in the account that the request names.
 * @param db sees all accounts
 * @throws PERMISSION_DENIED for an account other than that of the key, unless the caller is a platform admin
 * @throws INVALID_REQUEST if it is no id, or there is no such account, or it is being deleted
 */
export async function inAccount(db: Executor, caller: Caller, chosen: string): Promise<Caller> {
  if (chosen === caller.account) return caller;
  const id = account.id.safeParse(chosen);
  if (!id.success) throw invalidByRule({ Account: id.error.issues[0]?.message ?? 'is malformed' });
  if (!caller.isPlatformAdmin)
    throw permissionDenied(`Only admins of the first account may act in account ${chosen}.`, { Account: chosen });
  const problem = await problemOf(db, chosen);
  if (problem !== undefined) throw invalidByRule({ Account: problem });
  return { ...caller, account: chosen, principal: `${caller.id} ${chosen}`, isVisiting: true };
}

async function problemOf(db: Executor, id: string): Promise<string | undefined> {
  const text = `select deletion is not null as goes from ${account.table} where id = $1`;
  const [found] = await db.query({ name: 'accounts.exists', text, values: [id] });
  if (!found) return 'names an account that does not exist';
  return found.goes === true ? 'names an account that is being deleted' : undefined;
}
