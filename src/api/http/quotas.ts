/** Explains that an account may have no more resources of a family. PostgreSQL counts them (migration 0033). */
import { ApiError } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import { isOfAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';
import { exceededQuota } from '../store/database-errors.ts';

/**
 * @param db within the account
 * @throws QUOTA_EXCEEDED with how many it has, if the error says that a quota is exceeded; otherwise the error
 */
export async function explainQuota(db: Executor, error: unknown): Promise<never> {
  const quota = exceededQuota(error);
  if (!quota) throw error;
  const { family, limit } = quota;
  const [row] = await db.query({ text: `select count(*) as used from ${family} where ${isOfAccount}`, values: [] });
  const used = String(row?.used);
  const message = `The account has ${used} of at most ${limit} ${words(family)}; delete some, or ask a platform admin for a higher quota.`;
  throw new ApiError('QUOTA_EXCEEDED', message, { family, limit: String(limit), used });
}
