/** Accounts: their limits, and their deletion once they hold nothing. */
import { account, FIRST_ACCOUNT } from '../../resources/account.ts';
import { ACCOUNT_FAMILIES } from '../../resources/account-families.ts';
import { mount } from '../crud/mount.ts';
import { invalidByRule, resourceInUse } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import type { Executor } from '../store/database.ts';
import { lockAccount } from '../store/locks.ts';

export const accounts = mount(account, {
  aboutDelete: 'Fails with 409 while anything belongs to the account.',
  async beforeUpdate(_, { id }, { quotas }) {
    if (id === FIRST_ACCOUNT && quotas !== null)
      throw invalidByRule({ '/quotas': 'must be null for the first account, whose admins set the quotas' });
  },
  async beforeDelete({ tx }, { id }) {
    await lockAccount(tx, id);
    await refuseWhileHolding(tx, id);
    return undefined;
  },
});

/** Throws RESOURCE_IN_USE naming the families of which the account has any. */
async function refuseWhileHolding(tx: Executor, id: string): Promise<void> {
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
