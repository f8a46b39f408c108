/** Accounts: one can be deleted once it holds nothing. */
import { account } from '../../resources/account.ts';
import type { Resource } from '../../resources/definition/resource.ts';
import { FAMILIES } from '../../resources/families.ts';
import { mount } from '../crud/mount.ts';
import { resourceInUse } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import type { Executor } from '../store/database.ts';

export const accounts = mount(account, {
  aboutDelete: 'Fails with 409 while anything belongs to the account.',
  async beforeDelete({ tx }, { id }) {
    await refuseWhileHolding(tx, id);
    return undefined;
  },
});

const HELD: readonly Resource[] = FAMILIES.filter(({ access }) => access !== 'platform');

/** Throws RESOURCE_IN_USE naming the families of which the account has any. */
async function refuseWhileHolding(tx: Executor, id: string): Promise<void> {
  const counts = HELD.map(
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
