/** Makes sure that the user of the database may take the role of requests (account-scope.ts). */
import type pg from 'pg';
import { z } from 'zod';
import { REQUEST_ROLE } from './account-scope.ts';
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

/** Lets requests use the tables, but for those that only the service itself needs. To be run in each migration, since it may add tables. */
export async function grantTables(client: pg.Client): Promise<void> {
  const [{ schema }] = z
    .tuple([z.object({ schema: z.string() })])
    .parse((await client.query('select quote_ident(current_schema()) as schema')).rows);
  await client.query(`
    grant usage on schema ${schema} to ${REQUEST_ROLE};
    grant select, insert, update, delete on all tables in schema ${schema} to ${REQUEST_ROLE};
    grant usage on all sequences in schema ${schema} to ${REQUEST_ROLE};
    revoke all on schema_migrations, encryption_keys, acme_accounts from ${REQUEST_ROLE}`);
}

/** @throws UnsuitableDatabase if the policies apply to the user, so that background jobs would miss rows */
export async function requireAllRows(client: pg.Client): Promise<void> {
  const { rows } = await client.query("select row_security_active('events') as restricted");
  if (z.tuple([z.object({ restricted: z.boolean() })]).parse(rows)[0].restricted)
    throw new UnsuitableDatabase('its user does not own its tables: use the user who does, or one who has BYPASSRLS');
}
