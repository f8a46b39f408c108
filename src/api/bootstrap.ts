/** The first admin and the first API key, without which nobody could create others. */
import { apiKey } from '../resources/api-key.ts';
import { newId } from '../resources/definition/id.ts';
import { user } from '../resources/user.ts';
import { viewer } from './crud/view.ts';
import { API_KEY_PREFIX, BadBootstrapKey, newToken, tokenHash } from './secrets/tokens.ts';
import type { Database, Executor } from './store/database.ts';
import { LOCKS, lockUntilCommit } from './store/locks.ts';
import { changeEvent } from './store/outbox.ts';
import { repository } from './store/repository.ts';

const ADMIN_NAME = 'Bootstrap admin';

const keys = repository(apiKey, ['token_hash']);
const users = repository(user);

export interface Bootstrapped {
  /** The new key, to be shown once; undefined if none had to be generated. */
  madeUp?: string;
  /** The changes to a given key that existed but was not a working admin key. */
  repaired?: { api_key_id: string; owner_id: string; changed: string[] };
}

/**
 * Makes sure that somebody can call the API. With `given`, that key exists, works and belongs to an admin; doing it
 * again changes nothing. Without, and without any key in the database, makes an admin and a key.
 *
 * @param announce shows a new key, before it is committed: a key that nobody has seen would lock everybody out
 * @throws BadBootstrapKey when the given key is that of a bot
 */
export function bootstrap(
  db: Database,
  given: string | undefined,
  base: string,
  announce: (key: string) => void = () => undefined,
): Promise<Bootstrapped> {
  return db.transaction(async (tx) => {
    await lockUntilCommit(tx, LOCKS.bootstrap);
    if (given !== undefined) {
      // Locked, since another process that is at work already may be deleting it.
      const text = 'select id, expires_at <= now() as expired from api_keys where token_hash = $1 for update';
      const [known] = await tx.query({ text, values: [tokenHash(given)] });
      if (known) return repair(tx, String(known.id), known.expired === true, base);
      await addKey(tx, given, base);
      return {};
    }
    const any = await tx.query({ text: 'select 1 from api_keys limit 1', values: [] });
    if (any.length > 0) return {};
    const key = newToken(API_KEY_PREFIX);
    await addKey(tx, key, base);
    announce(key);
    return { madeUp: key };
  });
}

/** Turns a key into a working admin key, changing only what is necessary. */
async function repair(tx: Executor, id: string, expired: boolean, base: string): Promise<Bootstrapped> {
  const key = await keys.lock(tx, id);
  if (!key) throw new Error(`the locked API key ${id} is gone`);
  const owner_id = String(key.owner_id);
  const owner = await users.lock(tx, owner_id);
  if (!owner)
    throw new BadBootstrapKey(`is the key ${id} of the bot ${owner_id}, and bots cannot be admins; use another key`);
  const repaired: string[] = [];
  if (!(owner.admin === true && owner.active === true)) {
    const admin = { ...owner, admin: true, active: true };
    await users.update(tx, admin, changeEvent(user.name, 'updated', owner_id, viewer(user)(admin, base)));
    repaired.push(owner_id);
  }
  if (expired) {
    const lasting = { ...key, expires_at: null };
    await keys.update(tx, lasting, changeEvent(apiKey.name, 'updated', owner_id, viewer(apiKey)(lasting, base)));
    repaired.push(id);
  }
  return repaired.length === 0 ? {} : { repaired: { api_key_id: id, owner_id, changed: repaired } };
}

async function addKey(tx: Executor, key: string, base: string): Promise<void> {
  const owner_id = (await bootstrapAdmin(tx)) ?? (await addAdmin(tx, base));
  const fields = { description: 'Bootstrap key', metadata: null, owner_id, expires_at: null };
  const row = { ...fields, token_hash: tokenHash(key), ...fresh(apiKey.prefix) };
  const event = changeEvent(apiKey.name, 'created', owner_id, viewer(apiKey)(row, base));
  await keys.insert(tx, row, event);
}

/** The admin of an earlier bootstrap, so that changing the key does not leave one admin per key behind. */
async function bootstrapAdmin(tx: Executor): Promise<string | undefined> {
  const text = 'select id from users where name = $1 and admin and active order by id limit 1';
  const [found] = await tx.query({ text, values: [ADMIN_NAME] });
  return found && String(found.id);
}

async function addAdmin(tx: Executor, base: string): Promise<string> {
  const row = { name: ADMIN_NAME, admin: true, active: true, ...fresh(user.prefix) };
  await users.insert(tx, row, changeEvent(user.name, 'created', row.id, viewer(user)(row, base)));
  return row.id;
}

function fresh(prefix: string) {
  return { id: newId(prefix), created_at: new Date().toISOString(), revision: 1 };
}
