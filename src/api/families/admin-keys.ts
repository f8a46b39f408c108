/** The keys with which admins can do everything. Without any, no one could create another. */
import { isOfAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';
import { LOCKS, lockUntilCommit } from '../store/locks.ts';

const WORKING = `
  select 1 from api_keys k join users u on u.id = k.owner_user_id
   where k.${isOfAccount} and u.admin and u.active and k.scopes is null and (k.expires_at is null or k.expires_at > now())`;

export async function hasWorkingAdminKey(tx: Executor): Promise<boolean> {
  return (await tx.query({ text: `${WORKING} limit 1`, values: [] })).length > 0;
}

/** Whether no admin but this one has a working key. The caller holds `LOCKS.users`. */
export async function isLastAdmin(tx: Executor, userId: string): Promise<boolean> {
  return (await tx.query({ text: `${WORKING} and u.id <> $1 limit 1`, values: [userId] })).length === 0;
}

/** A key that ends this soon is taken to end at once: clocks differ, and the next one must still be made. */
const SOON = "now() + interval '1 minute'";

const ENDS_LAST = `
  select exists (${WORKING} and k.id = $1) and not exists (${WORKING} and k.id <> $1)
         and coalesce($2::timestamptz <= ${SOON}, true) as is_last`;

/**
 * Whether no admin could call the API any more if this key ended then. Waits for other changes of keys and admins, so
 * that two keys cannot end each other.
 * @param end default: at once
 */
export async function endsLastAdminKey(tx: Executor, keyId: string, end?: string): Promise<boolean> {
  await lockUntilCommit(tx, LOCKS.users);
  const [row] = await tx.query({ name: 'api_keys.ends_last', text: ENDS_LAST, values: [keyId, end ?? null] });
  return row?.is_last === true;
}
