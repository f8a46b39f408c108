/**
 * Row level security: statements for a request run as a role that may see and change the rows of one account. All others, such as
 * those of background jobs, run as the user of the connection, who owns the tables and is not restricted.
 */
import pg from 'pg';
import { FIRST_ACCOUNT } from '../../resources/account.ts';

/** The role, made by a migration. Nobody logs in as it; the user of the connection is a member. */
export const REQUEST_ROLE = 'tunnel_operator_request';
/** The setting that the policies compare with `account_id`, and from which new rows take it. */
const SETTING = 'tunnel_operator.account';

/** The name of a prepared statement of each connection. */
export const ENTER_STATEMENT = 'enter_account';

/** Until the end of the transaction. Both settings have values, so there is no row to send. */
const enter = (account: string) =>
  `select where set_config('role', '${REQUEST_ROLE}', true) is null or set_config('${SETTING}', ${account}, true) is null`;

/**
 * For statements that read all rows of an account, by an index. The setting is a query, so that it is evaluated once for each
 * statement. Without it, no row fits.
 */
export const isOfAccount = `account_id = (select current_setting('${SETTING}', true))`;

/** The condition of the policies, in the form that `ofThisAccount` has, and for its reasons. */
export const POLICY = `coalesce(${isOfAccount}, false)`;

/**
 * The condition of the statements of requests that take an id, or another text, from the caller: it keeps accounts apart even where
 * the policies are switched off. Without the setting, no row fits. In a form that no index and no
 * statistics serve: it must not change how the rows are found.
 * @param table its name or alias, if the statement has several
 */
export const ofThisAccount = (table?: string) =>
  isSameAccount(`${table === undefined ? '' : `${table}.`}account_id`, `current_setting('${SETTING}', true)`);

/** In the form that `ofThisAccount` has, and for its reasons. */
export const isSameAccount = (one: string, other: string) => `coalesce(${one} = ${other}, false)`;

/** The account that new rows belong to: that of the statement, or the first one. */
export const CURRENT_ACCOUNT = `coalesce(nullif(current_setting('${SETTING}', true), ''), '${FIRST_ACCOUNT}')`;

/** Whether the statement is within another account than the first one, which is never deleted and has no quotas. */
export const IS_OTHER_ACCOUNT = `current_setting('${SETTING}', true) not in ('', '${FIRST_ACCOUNT}')`;

/** Until the end of the transaction, creates what no quota refuses (migration 0036). */
export const WITHOUT_QUOTAS = "select where set_config('tunnel_operator.quotas', 'off', true) is null";

/** Fixes the search path of a connection: "$user" in it would be the role of requests later on. */
export const FIX_SEARCH_PATH = `
  select set_config('search_path', (select string_agg(quote_ident(s), ', ') from unnest(current_schemas(false)) s), false)`;

/** To be run once on each connection. */
export const PREPARE_ENTER = `${FIX_SEARCH_PATH}; prepare ${ENTER_STATEMENT} (text) as ${enter('$1')}`;

/** Begins a transaction within an account. */
export const beginWithin = (account: string) => `begin; ${enter(pg.escapeLiteral(account))}`;
