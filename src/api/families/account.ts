/** Accounts: their limits, and their deletion once they hold nothing. */
import { account, FIRST_ACCOUNT } from '../../resources/account.ts';
import { ACCOUNT_FAMILIES } from '../../resources/account-families.ts';
import { type Family, writeRow } from '../crud/family.ts';
import type { WriteContext } from '../crud/hooks.ts';
import { mount } from '../crud/mount.ts';
import { conflict, invalidByRule, resourceInUse } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import type { Executor } from '../store/database.ts';
import { lockAccount } from '../store/locks.ts';

export const accounts: Family<typeof account> = mount(account, {
  aboutDelete:
    'Fails with 409 while anything belongs to the account. With `cascade=true`, all that belongs to it is deleted as well: the ' +
    'response is 202, its API keys are refused from then on, and the account shows the progress (`deletion`) until it is gone. ' +
    'For an account that is being deleted already, the response is the same, with or without `cascade`.',
  isVolatile: (row) => row.deletion !== null,
  async beforeUpdate(_, { id }, { quotas }) {
    if (id === FIRST_ACCOUNT && quotas !== null)
      throw invalidByRule({ '/quotas': 'must be null for the first account, whose admins set the quotas' });
  },
  async beforeDelete({ tx }, { id }) {
    await lockAccount(tx, id);
    await refuseWhileHolding(tx, id);
    return undefined;
  },
  async beginDeletion(context, row, cascade) {
    if (row.deletion !== null) return row;
    if (!cascade) return undefined;
    if (row.id === FIRST_ACCOUNT) throw conflict('The first account can never be deleted.');
    await lockAccount(context.tx, row.id);
    const next = { ...row, deletion: { started_at: new Date().toISOString(), remaining: null, error: null } };
    const revision = await writeRow(context, accounts, row, next);
    await putOnSchedule(context, row.id);
    return { ...next, revision };
  },
});

/** The job (src/api/accounts) takes it up. The event at its end is in the name of the caller. */
async function putOnSchedule({ tx, caller, requestId }: WriteContext, id: string): Promise<void> {
  const text = 'update accounts set deletion_due_at = now(), deletion_author = $2 where id = $1';
  const author = { id: caller.id, keyId: caller.keyId, requestId };
  await tx.query({ name: 'accounts.put_on_schedule', text, values: [id, JSON.stringify(author)] });
}

/** Throws RESOURCE_IN_USE naming the families of which the account has any. */
export async function refuseWhileHolding(tx: Executor, id: string): Promise<void> {
  const counts = ACCOUNT_FAMILIES.map(
    ({ table }) => `select '${table}' as held where exists (select from ${table} where account_id = $1)`,
  );
  const found = await tx.query({ name: 'accounts.held', text: counts.join(' union all '), values: [id] });
  if (found.length === 0) return;
  const held = found.map((row) => String(row.held));
  throw resourceInUse(
    `It still owns ${held.map(words).join(', ')}; delete those first.`,
    Object.fromEntries(held.map((table) => [table, 'belong to it'])),
  );
}
