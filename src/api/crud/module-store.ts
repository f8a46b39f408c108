/** Modules in the database: plain settings as JSON, secret ones sealed. */
import { z } from 'zod';
import type { Module } from '../../resources/definition/module.ts';
import type { Secrets } from '../secrets/sealing.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';

const TABLE = 'modules';
const COLUMN = 'sealed_secrets';

/** Where the secrets of modules are kept. */
export const MODULE_SECRETS = { table: TABLE, column: COLUMN };

export type Settings = Readonly<Record<string, unknown>>;

const json = z.record(z.string(), z.unknown());
const stored = z.object({ settings: json, sealed_secrets: z.string().nullable() });

const GET = {
  name: 'modules.get',
  text: `select settings, ${COLUMN} from ${TABLE} where id = $1 and ${ofThisAccount()}`,
};
const PUT = {
  name: 'modules.put',
  text: `
    insert into ${TABLE} (id, owner_id, settings, ${COLUMN}, updated_at) values ($1, $2, $3, $4, $5)
    on conflict (id) do update set settings = excluded.settings, ${COLUMN} = excluded.${COLUMN},
      updated_at = excluded.updated_at`,
};
const REMOVE = { name: 'modules.remove', text: `delete from ${TABLE} where id = $1 and ${ofThisAccount()}` };
const REMOVE_ALL = { name: 'modules.remove_all', text: `delete from ${TABLE} where owner_id = any($1)` };

const locationOf = (id: string) => ({ table: TABLE, id, field: COLUMN });

/** The settings of a module; undefined when the resource lacks it. @throws UNAVAILABLE when it has secrets and there is no key */
export async function getModule(
  secrets: Secrets,
  db: Executor,
  ownerId: string,
  module: Module,
): Promise<Settings | undefined> {
  const id = idOf(ownerId, module);
  const [found] = await db.query({ ...GET, values: [id] });
  if (!found) return undefined;
  const { settings, sealed_secrets: sealed } = stored.parse(found);
  if (sealed === null) return settings;
  return { ...settings, ...json.parse(JSON.parse(secrets.open(sealed, locationOf(id)))) };
}

/** @throws UNAVAILABLE for a module with secrets when the service has no key */
export async function putModule(
  secrets: Secrets,
  tx: Executor,
  ownerId: string,
  module: Module,
  settings: Settings,
): Promise<void> {
  const id = idOf(ownerId, module);
  const [secret, plain] = [true, false].map((wanted) =>
    Object.fromEntries(Object.entries(settings).filter(([name]) => (module.fields[name]?.sealed === true) === wanted)),
  );
  const hasSecrets = Object.values(module.fields).some(({ sealed }) => sealed);
  const sealed = hasSecrets ? secrets.seal(JSON.stringify(secret), locationOf(id)) : null;
  const values = [id, ownerId, JSON.stringify(plain), sealed, new Date().toISOString()];
  await tx.query({ ...PUT, values });
}

export async function removeModule(tx: Executor, ownerId: string, module: Module): Promise<void> {
  await tx.query({ ...REMOVE, values: [idOf(ownerId, module)] });
}

/** Deletes all modules of resources that are deleted. */
export async function removeModules(tx: Executor, ownerIds: readonly string[]): Promise<void> {
  await tx.query({ ...REMOVE_ALL, values: [ownerIds] });
}

const idOf = (ownerId: string, { name }: Module) => `${ownerId}/${name}`;
