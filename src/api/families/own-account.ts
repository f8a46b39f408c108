/** The account of the caller: what it may have, and what it has. */
import { z } from 'zod';
import { account, QUOTA_NAMES } from '../../resources/account.ts';
import { accountUsage } from '../../resources/account-usage.ts';
import { operation } from '../http/operation.ts';
import type { Database } from '../store/database.ts';
import { accounts } from './account.ts';

const PATH = '/account';
const common = { method: 'GET', tag: account.tag, access: 'anyone', family: null, params: {} } as const;

/** Callers may read their account, but not the table of accounts. */
async function ownAccount(db: Database, id: string) {
  const row = await accounts.rows.get(db.acrossAccounts(), id);
  if (!row) throw new Error(`account ${id} is gone`);
  return row;
}

export const getOwnAccount = operation({
  ...common,
  path: PATH,
  operationId: 'getOwnAccount',
  summary: 'Get the account of the caller',
  description: 'Returns the account that the request is made in.',
  success: { status: 200, description: 'The account.', schema: account.view },
  async handle({ caller, base }, { db }) {
    return { body: accounts.show(await ownAccount(db, caller.account), base) };
  },
});

const COUNT = QUOTA_NAMES.map(
  (table) => `select '${table}' as family, count(*) as used from ${table} where account_id = $1`,
).join(' union all ');

export const getAccountUsage = operation({
  ...common,
  path: `${PATH}/usage`,
  operationId: 'getAccountUsage',
  summary: 'Get what the account of the caller uses',
  description:
    'Returns how many resources the account has, by family, and its quotas. Counts them one by one: in an account with millions, ask seldom.',
  success: { status: 200, description: 'What the account uses.', schema: accountUsage },
  async handle({ caller, base }, { db }) {
    const { id, uri, quotas } = accounts.typed(accounts.show(await ownAccount(db, caller.account), base));
    const counted = await db.query({ name: 'accounts.usage', text: COUNT, values: [id] });
    const families = Object.fromEntries(
      z
        .array(count)
        .parse(counted)
        .map(({ family, used }) => [family, { used, limit: quotas?.[family] ?? null }]),
    );
    return { body: accountUsage.parse({ uri: `${base}${PATH}/usage`, account: { id, uri }, families }) };
  },
});

const count = z.object({ family: z.string(), used: z.number() });
