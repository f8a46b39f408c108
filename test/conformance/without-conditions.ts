/** A database whose statements for requests lack the conditions that keep accounts apart: row level security stands alone. */
import { CURRENT_ACCOUNT } from '../../src/api/store/account-scope.ts';
import type { Database, Executor } from '../../src/api/store/database.ts';
import type { Statement } from '../../src/api/store/statement.ts';

const COLUMN = String.raw`(?:\w+\.)?\baccount_id`;
const VALUE = String.raw`(?:\(select ${RegExp.escape(CURRENT_ACCOUNT)}\)|current_setting\('[^']+', true\)|\$\d+)`;
const IS_ACCOUNT = new RegExp(`${COLUMN} = ${VALUE}`, 'g');
/** A page in an index with the account: one of its ends, and its order. */
const END_IN_ACCOUNT = new RegExp(String.raw`\(((?:[\w.]+, )*?)${COLUMN}((?:, [\w.]+)+)\) (<|>|>=) \(([^()]+)\)`, 'g');
const BY_ACCOUNT = new RegExp(`${COLUMN} desc, `, 'g');

/** In place of the account, what it is compared with. */
function endAnywhere(_: string, before: string, after: string, comparison: string, values: string): string {
  const value = values.split(', ')[before.split(', ').length - 1];
  return `(${before}${value}::text${after}) ${comparison} (${values})`;
}

/** Keeps every parameter, since PostgreSQL needs to know their types. */
const withoutCondition = ({ name, text, ...others }: Statement): Statement => ({
  ...others,
  // Statements outside of accounts, which stay as they are, may have the same names.
  ...(name !== undefined && { name: `${name}.` }),
  text: text.replaceAll(IS_ACCOUNT, '(true or $&)').replaceAll(END_IN_ACCOUNT, endAnywhere).replaceAll(BY_ACCOUNT, ''),
});

/** Statements for all accounts, such as those that check an API key, stay as they are. */
export function withoutConditions(db: Database): Database {
  return { ...db, within: (account) => without(db.within(account)) };
}

function without(db: Database): Database {
  const on = (executor: Executor): Executor => ({ query: (statement) => executor.query(withoutCondition(statement)) });
  return { ...db, ...on(db), transaction: (work) => db.transaction((tx) => work(on(tx))) };
}
