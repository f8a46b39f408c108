/** The first admin and the first API key, without which nobody could make others. */
import { apiKey } from '../resources/api-key.ts';
import { newId } from '../resources/id.ts';
import { user } from '../resources/user.ts';
import type { Database, Executor } from './store/database.ts';
import { changed } from './store/events.ts';
import { repository } from './store/repository.ts';
import { API_KEY_PREFIX, newToken, tokenHash } from './tokens.ts';
import { viewer } from './view.ts';

/** Serialises processes that start at the same moment. */
const LOCK = 7_211_004_328;
const ADMIN_NAME = 'Bootstrap admin';

/**
 * Makes sure that somebody can call the API. With `given`, that key exists and belongs to an admin; doing it again
 * changes nothing. Without, and without any key in the database, makes an admin and a key.
 *
 * @returns the new key, to be shown once; undefined when there was nothing to make up
 */
export function bootstrap(db: Database, given: string | undefined, base: string): Promise<string | undefined> {
  return db.transaction(async (tx) => {
    await tx.query({ text: 'select pg_advisory_xact_lock($1)', values: [LOCK] });
    if (given !== undefined) {
      const text = 'select 1 from api_keys where token_hash = $1';
      const known = await tx.query({ text, values: [tokenHash(given)] });
      if (known.length === 0) await addKey(tx, given, base);
      return undefined;
    }
    const any = await tx.query({ text: 'select 1 from api_keys limit 1', values: [] });
    if (any.length > 0) return undefined;
    const key = newToken(API_KEY_PREFIX);
    await addKey(tx, key, base);
    return key;
  });
}

async function addKey(tx: Executor, key: string, base: string): Promise<void> {
  const owner_id = (await bootstrapAdmin(tx)) ?? (await addAdmin(tx, base));
  const fields = { description: 'Bootstrap key', metadata: null, owner_id, expires_at: null };
  const row = { ...fields, token_hash: tokenHash(key), ...fresh(apiKey.prefix) };
  const event = changed(apiKey.name, 'created', owner_id, viewer(apiKey)(row, base));
  await repository(apiKey, ['token_hash']).insert(tx, row, event);
}

/** The admin of an earlier bootstrap, so that changing the key does not leave one admin per key behind. */
async function bootstrapAdmin(tx: Executor): Promise<string | undefined> {
  const text = 'select id from users where name = $1 and admin and active order by id limit 1';
  const [found] = await tx.query({ text, values: [ADMIN_NAME] });
  return found && String(found.id);
}

async function addAdmin(tx: Executor, base: string): Promise<string> {
  const row = { name: ADMIN_NAME, admin: true, active: true, ...fresh(user.prefix) };
  await repository(user).insert(tx, row, changed(user.name, 'created', row.id, viewer(user)(row, base)));
  return row.id;
}

function fresh(prefix: string) {
  return { id: newId(prefix), created_at: new Date().toISOString(), revision: 1 };
}
