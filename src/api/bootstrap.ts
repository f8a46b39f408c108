/** Creates the first admin and the first API key, which are needed to create any others, and a key for the operator. */
import { FIRST_ACCOUNT } from '../resources/account.ts';
import { apiKey } from '../resources/api-key.ts';
import { newId, timeOfId } from '../resources/definition/id.ts';
import type { Resource } from '../resources/definition/resource.ts';
import { user } from '../resources/user.ts';
import { BadSettings } from '../settings/settings.ts';
import { viewer } from './crud/view.ts';
import { hasWorkingAdminKey } from './families/admin-keys.ts';
import { API_KEY_PREFIX, newToken, tokenHash, tokenPrefix } from './secrets/tokens.ts';
import type { ApiConfig } from './settings.ts';
import { isOfAccount } from './store/account-scope.ts';
import type { Database, Executor } from './store/database.ts';
import { violation } from './store/database-errors.ts';
import { LOCKS, lockUntilCommit } from './store/locks.ts';
import { changeEvent } from './store/outbox.ts';
import { type Row, repository } from './store/repository.ts';

interface Owner {
  /** Where its key is given. */
  setting: string;
  name: string;
  admin: boolean;
  /** The description of the owner's keys. */
  description: string;
  /** Finds the owner of an earlier start by its name, so that changing the key does not leave one owner per key behind. */
  earlier: string;
}

const ADMIN: Owner = {
  setting: 'BOOTSTRAP_API_KEY',
  name: 'Bootstrap admin',
  admin: true,
  description: 'Bootstrap key',
  earlier: `select id from users where ${isOfAccount} and name = $1 and admin and active order by id limit 1`,
};

/** Keeps its user even if that is inactive or has become an admin: the operator refuses a key of another owner. */
const OPERATOR: Owner = {
  setting: 'OPERATOR_API_KEY',
  name: 'Bootstrap operator',
  admin: false,
  description: 'Key of the operator',
  earlier: `select id from users where ${isOfAccount} and name = $1 order by id limit 1`,
};

const keys = repository(apiKey, ['token_hash']);
const users = repository(user);

const KNOWN = `
  select k.id,
         coalesce(u.admin and u.active and k.scopes is null and (k.expires_at is null or k.expires_at > now()), false) as works
    from api_keys k left join users u on u.id = k.owner_id
   where k.token_hash = $1`;

export interface Bootstrapped {
  /** The new key, to be shown once; undefined if none had to be generated. */
  generated?: string;
  /** The id of the given key if it exists but is not a working admin key. */
  unusable?: string;
}

/**
 * Creates the first API key. With `given`, creates that key unless it exists; an existing one is left as it is. Without
 * `given`, and without a key with which an admin can call the API, creates a random one. Both belong to the admin that
 * bootstrap creates.
 *
 * @param announce shows a new key before it is committed: a key that was never shown would lock out every user
 * @throws BadSettings if the given key belongs to another account
 */
export function bootstrap(
  db: Database,
  given: string | undefined,
  base: string,
  announce: (key: string) => void = () => undefined,
): Promise<Bootstrapped> {
  // Only admins of the first account count: they alone may act in all others.
  return db.within(FIRST_ACCOUNT).transaction(async (tx) => {
    await lockUntilCommit(tx, LOCKS.bootstrap);
    if (given !== undefined) {
      const [known] = await tx.query({ text: KNOWN, values: [tokenHash(given)] });
      if (known) return known.works === true ? {} : { unusable: String(known.id) };
      await addKey(tx, given, ADMIN, base);
      return {};
    }
    if (await hasWorkingAdminKey(tx)) return {};
    const key = newToken(API_KEY_PREFIX);
    await addKey(tx, key, ADMIN, base);
    announce(key);
    return { generated: key };
  });
}

/**
 * Creates the operator's key for a user who is not an admin, unless it exists; an existing one is left as it is.
 * @throws BadSettings if it belongs to another account
 */
export function bootstrapOperator(db: Database, key: string, base: string): Promise<void> {
  return db.within(FIRST_ACCOUNT).transaction(async (tx) => {
    await lockUntilCommit(tx, LOCKS.bootstrap);
    const [known] = await tx.query({ text: KNOWN, values: [tokenHash(key)] });
    if (!known) await addKey(tx, key, OPERATOR, base);
  });
}

/** @throws BadSettings when the operator would have the admin's key */
export function checkGivenKeys(config: Pick<ApiConfig, 'bootstrapApiKey' | 'operatorApiKey'>): void {
  const { bootstrapApiKey, operatorApiKey } = config;
  if (operatorApiKey !== undefined && operatorApiKey === bootstrapApiKey)
    throw new BadSettings("OPERATOR_API_KEY must differ from BOOTSTRAP_API_KEY, which is an admin's key");
}

async function addKey(tx: Executor, key: string, owner: Owner, base: string): Promise<void> {
  const { name, description } = owner;
  const [earlier] = await tx.query({ text: owner.earlier, values: [name] });
  const owner_id = earlier ? String(earlier.id) : await addOwner(tx, owner, base);
  const own = { owner_id, expires_at: null, token_prefix: tokenPrefix(key), last_used_at: null };
  const fields = { description, metadata: null, ...own };
  const row = { ...fields, token_hash: tokenHash(key), ...fresh(apiKey.prefix) };
  await keys.insert(tx, row, created(apiKey, row, owner_id, base)).catch((error: unknown) => {
    // Of the first account, it would have been found.
    if (violation(error)?.kind !== 'unique') throw error;
    throw new BadSettings(`${owner.setting} is a key of another account: set another key`);
  });
}

async function addOwner(tx: Executor, { name, admin }: Owner, base: string): Promise<string> {
  const row = { name, admin, active: true, ...fresh(user.prefix) };
  await users.insert(tx, row, created(user, row, row.id, base));
  return row.id;
}

/** The event of a creation that no request asked for. */
function created(family: Resource, row: Row, actor: string, base: string) {
  const author = { caller: { id: actor, keyId: null }, requestId: null };
  const { revision } = row;
  return changeEvent(author, family.name, { kind: 'created', payload: viewer(family)(row, base), revision });
}

function fresh(prefix: string) {
  const id = newId(prefix);
  return { id, created_at: timeOfId(id), revision: 1 };
}
