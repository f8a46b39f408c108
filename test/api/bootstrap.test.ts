/** Who can call the API before anybody could create a key; server.test.ts has what the process says of it. */
import { expect, test } from 'vitest';
import { bootstrap } from '../../src/api/bootstrap.ts';
import { BadBootstrapKey, tokenHash } from '../../src/api/secrets/tokens.ts';
import type { Database } from '../../src/api/store/database.ts';
import { newId } from '../../src/resources/definition/id.ts';
import { ADMIN_KEY, BASE, openTestDatabase } from './harness.ts';

const all = (db: Database, text: string, values: unknown[] = []) => db.query({ text, values });
const ADMINS = 'select id, name, admin, active, revision from users';
const KEYS =
  "select id, owner_id, '\\x' || encode(token_hash, 'hex') as token_hash, expires_at, revision from api_keys";
const EVENTS = 'select type, actor, resource_id, payload from events order by id';

/** With the given key, and what it is of. */
async function given() {
  const db = await openTestDatabase();
  expect(await bootstrap(db, ADMIN_KEY, BASE)).toEqual({});
  const [[owner], [key]] = [await all(db, ADMINS), await all(db, KEYS)];
  return { db, ownerId: String(owner?.id), keyId: String(key?.id) };
}

test.each([
  ['given', ADMIN_KEY],
  ['made up', undefined],
])('a key that is %s belongs to an admin, and events tell of both', async (_, key) => {
  const db = await openTestDatabase();
  const shown: string[] = [];
  const { madeUp } = await bootstrap(db, key, BASE, (each) => void shown.push(each));
  expect(shown).toEqual(key === undefined ? [madeUp] : []);
  const [owner, ...otherOwners] = await all(db, ADMINS);
  const [made, ...otherKeys] = await all(db, KEYS);
  expect([otherOwners, otherKeys]).toEqual([[], []]);
  expect(owner).toMatchObject({ name: 'Bootstrap admin', admin: true, active: true, revision: 1 });
  const token_hash = tokenHash(key ?? String(madeUp));
  expect(made).toMatchObject({ owner_id: owner?.id, token_hash, expires_at: null, revision: 1 });
  expect(await all(db, EVENTS)).toMatchObject([
    {
      type: 'user_created.v0',
      actor: owner?.id,
      payload: { admin: true, active: true, uri: `${BASE}/users/${owner?.id}` },
    },
    {
      type: 'api_key_created.v0',
      actor: owner?.id,
      resource_id: made?.id,
      payload: { uri: `${BASE}/api_keys/${made?.id}` },
    },
  ]);
});

test('a key that nobody has seen is not kept', async () => {
  const db = await openTestDatabase();
  const unseen = bootstrap(db, undefined, BASE, () => {
    throw new Error('nobody reads it');
  });
  await expect(unseen).rejects.toThrow('nobody reads it');
  expect(await all(db, KEYS)).toEqual([]);
});

test('no key is made up where there is one, and a given one that works changes nothing', async () => {
  const { db } = await given();
  const before = [await all(db, ADMINS), await all(db, KEYS), await all(db, EVENTS)];
  expect(await bootstrap(db, undefined, BASE)).toEqual({});
  expect(await bootstrap(db, ADMIN_KEY, BASE)).toEqual({});
  expect([await all(db, ADMINS), await all(db, KEYS), await all(db, EVENTS)]).toEqual(before);
});

test('another given key belongs to the same admin', async () => {
  const { db, ownerId } = await given();
  expect(await bootstrap(db, `${ADMIN_KEY}_another`, BASE)).toEqual({});
  expect((await all(db, KEYS)).map(({ owner_id }) => owner_id)).toEqual([ownerId, ownerId]);
});

test.each([
  ['is no admin any more', 'update users set admin = false', ['owner']],
  ['is inactive', 'update users set active = false', ['owner']],
  ['is neither', 'update users set admin = false, active = false', ['owner']],
  ['has a key that has expired', "update api_keys set expires_at = now() - interval '1s'", ['key']],
])('a given key whose owner %s works again, and only what was wrong has changed', async (_, change, changed) => {
  const { db, ownerId, keyId } = await given();
  await all(db, change);
  const ids = changed.map((which) => (which === 'owner' ? ownerId : keyId));
  const repaired = { api_key_id: keyId, owner_id: ownerId, changed: ids };
  expect(await bootstrap(db, ADMIN_KEY, BASE)).toEqual({ repaired });
  const isOwner = changed.includes('owner');
  expect(await all(db, ADMINS)).toMatchObject([{ admin: true, active: true, revision: isOwner ? 2 : 1 }]);
  expect(await all(db, KEYS)).toMatchObject([{ expires_at: null, revision: isOwner ? 1 : 2 }]);
  const payload = isOwner ? { admin: true, active: true } : { expires_at: null };
  const type = isOwner ? 'user_updated.v0' : 'api_key_updated.v0';
  expect((await all(db, EVENTS)).slice(2)).toMatchObject([{ type, actor: ownerId, resource_id: ids[0], payload }]);
});

test('a given key that expires later is left as it is', async () => {
  const { db } = await given();
  await all(db, "update api_keys set expires_at = now() + interval '1h'");
  expect(await bootstrap(db, ADMIN_KEY, BASE)).toEqual({});
});

test('the key of a bot is refused', async () => {
  const { db } = await given();
  const bot = newId('bot');
  await all(
    db,
    `insert into bot_users (id, name, active, created_at, updated_at) values ($1, 'b', true, now(), now())`,
    [bot],
  );
  await all(db, 'update api_keys set owner_id = $1', [bot]);
  await expect(bootstrap(db, ADMIN_KEY, BASE)).rejects.toThrow(BadBootstrapKey);
});
