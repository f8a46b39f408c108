/** Makes sure that the user of the database may take the role of requests (account-scope.ts). */
import type pg from 'pg';
import { z } from 'zod';
import { FIX_SEARCH_PATH, REQUEST_ROLE } from './account-scope.ts';
import { UnsuitableDatabase } from './unsuitable-database.ts';

/**
 * Creates the role if there is none, and makes the user a member. Roles belong to the server, so a restored database may lack it.
 * @throws UnsuitableDatabase, with what an administrator has to run, if the user lacks the right
 */
export async function ensureRequestRole(client: pg.Client): Promise<void> {
  if (await canTake(client)) return;
  try {
    await client.query(CREATE);
    await client.query(`grant ${REQUEST_ROLE} to current_user`);
  } catch (error) {
    if (failure.safeParse(error).data?.code !== INSUFFICIENT_PRIVILEGE) throw error;
  }
  if (await canTake(client)) return;
  const { rows } = await client.query('select quote_ident(current_user) as name');
  const [{ name }] = z.tuple([z.object({ name: z.string() })]).parse(rows);
  throw new UnsuitableDatabase(
    `its user may not create the role that requests run as; run this as an administrator, once for each server: ` +
      `create role ${REQUEST_ROLE} nologin; grant ${REQUEST_ROLE} to ${name};`,
  );
}

const failure = z.object({ code: z.string() });
const INSUFFICIENT_PRIVILEGE = '42501';

/** Another database of the server may be making it at this moment. */
const CREATE = `
  do $$
  begin
    if not exists (select from pg_roles where rolname = '${REQUEST_ROLE}') then
      create role ${REQUEST_ROLE} nologin;
    end if;
  exception when duplicate_object or unique_violation then null;
  end
  $$`;

/** Tried, since membership alone does not always permit it. */
async function canTake(client: pg.Client): Promise<boolean> {
  try {
    await client.query(`begin; set local role ${REQUEST_ROLE}; rollback`);
    return true;
  } catch {
    await client.query('rollback');
    return false;
  }
}

/** Lets requests use our tables, but for those that only the service itself needs. To be run in each migration. */
export async function grantTables(client: pg.Client): Promise<void> {
  const [{ schema, tables }] = z
    .tuple([z.object({ schema: z.string(), tables: z.string() })])
    .parse((await client.query(OWN_TABLES)).rows);
  await client.query(`
    grant usage on schema ${schema} to ${REQUEST_ROLE};
    grant select, insert, update, delete on ${tables} to ${REQUEST_ROLE};
    grant usage on sequence event_queue_seq_seq to ${REQUEST_ROLE};
    revoke all on schema_migrations, encryption_keys, acme_accounts from ${REQUEST_ROLE}`);
}

const OWN_TABLES = `
  select quote_ident(current_schema()) as schema, string_agg(quote_ident(relname), ', ') as tables
    from pg_class
   where relnamespace = current_schema()::regnamespace and relkind = 'r' and pg_has_role(relowner, 'usage')`;

/**
 * Checks both sides of the wall: background jobs see all rows, and requests do not. A restored database may lack the rights of
 * the role, which are granted again.
 * @throws UnsuitableDatabase
 */
export async function checkRowSecurity(client: pg.Client): Promise<void> {
  const [own] = z.tuple([look]).parse((await client.query(LOOK)).rows);
  if (own.restricted)
    throw new UnsuitableDatabase('its user does not own its tables: use the user who does, or one who has BYPASSRLS');
  if (!own.policy)
    throw new UnsuitableDatabase(`it has lost its policies: restore it again, once the role ${REQUEST_ROLE} exists`);
  if (!own.granted) await grantTables(client);
  await client.query(FIX_SEARCH_PATH);
  await client.query(`begin; set local role ${REQUEST_ROLE}`);
  const [request] = z.tuple([look]).parse((await client.query(LOOK)).rows);
  await client.query('rollback');
  if (!request.restricted)
    throw new UnsuitableDatabase(
      `the role ${REQUEST_ROLE} sees all rows: take BYPASSRLS and its memberships in other roles from it`,
    );
}

const look = z.object({ restricted: z.boolean(), policy: z.boolean(), granted: z.boolean() });
const LOOK = `
  select row_security_active('events') as restricted,
         exists (select from pg_policy where polrelid = 'events'::regclass) as policy,
         has_table_privilege('${REQUEST_ROLE}', 'events', 'insert') as granted`;
