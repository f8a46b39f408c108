/** The first API key, before any can be created through the API. */
import { describe, expect, test } from 'vitest';
import { bootstrap, bootstrapOperator, checkGivenKeys } from '../../src/api/bootstrap.ts';
import { tokenHash } from '../../src/api/secrets/tokens.ts';
import type { Database } from '../../src/api/store/database.ts';
import { newId } from '../../src/resources/definition/id.ts';
import { BadSettings } from '../../src/settings/settings.ts';
import { ADMIN_KEY, BASE, openTestDatabase } from './harness.ts';

const all = (db: Database, text: string, values: unknown[] = []) => db.query({ text, values });
const USERS = 'select id, name, admin, active, revision from users';
const KEYS =
  "select id, owner_id, '\\x' || encode(token_hash, 'hex') as token_hash, expires_at, revision from api_keys";
const EVENTS = 'select type, actor, resource_id, payload from events order by id';
const everything = async (db: Database) => [await all(db, USERS), await all(db, KEYS), await all(db, EVENTS)];

test.each([
  ['given', ADMIN_KEY],
  ['generated', undefined],
])('a %s key belongs to a new admin, and events record both', async (_, key) => {
  const db = await openTestDatabase();
  const shown: string[] = [];
  const { generated } = await bootstrap(db, key, BASE, (each) => void shown.push(each));
  expect(shown).toEqual(key === undefined ? [generated] : []);
  const [owner, ...otherOwners] = await all(db, USERS);
  const [made, ...otherKeys] = await all(db, KEYS);
  expect([otherOwners, otherKeys]).toEqual([[], []]);
  expect(owner).toMatchObject({ name: 'Bootstrap admin', admin: true, active: true, revision: 1 });
  const token_hash = tokenHash(key ?? String(generated));
  expect(made).toMatchObject({ owner_id: owner?.id, token_hash, expires_at: null, revision: 1 });
  const { id } = made ?? {};
  expect(await all(db, EVENTS)).toMatchObject([
    { type: 'user_created.v0', actor: owner?.id, payload: { admin: true, uri: `${BASE}/users/${owner?.id}` } },
    { type: 'api_key_created.v0', actor: owner?.id, resource_id: id, payload: { uri: `${BASE}/api_keys/${id}` } },
  ]);
});

test('a key that cannot be shown is not created', async () => {
  const db = await openTestDatabase();
  const unseen = bootstrap(db, undefined, BASE, () => {
    throw new Error('nobody reads it');
  });
  await expect(unseen).rejects.toThrow('nobody reads it');
  expect(await all(db, KEYS)).toEqual([]);
});

test('processes that start at once generate one key; a later start generates none and changes nothing', async () => {
  const db = await openTestDatabase();
  const started = await Promise.all(Array.from({ length: 3 }, () => bootstrap(db, undefined, BASE)));
  const [{ generated } = {}, ...others] = started.filter((each) => each.generated !== undefined);
  expect([generated, others]).toEqual([expect.stringMatching(/^tnl_ak_[0-9A-Za-z]{43}$/), []]);
  const before = await everything(db);
  expect([await bootstrap(db, undefined, BASE), await bootstrap(db, generated, BASE)]).toEqual([{}, {}]);
  expect(await everything(db)).toEqual(before);
});

test('another given key belongs to the same admin', async () => {
  const db = await openTestDatabase();
  for (const key of [ADMIN_KEY, `${ADMIN_KEY}_another`]) expect(await bootstrap(db, key, BASE)).toEqual({});
  const [owner, ...others] = await all(db, USERS);
  expect(others).toEqual([]);
  expect((await all(db, KEYS)).map(({ owner_id }) => owner_id)).toEqual([owner?.id, owner?.id]);
});

test.each([
  ['is of an admin who is inactive', 'update users set active = false'],
  ['has expired', "update api_keys set expires_at = now() - interval '1s'"],
  ['is of a user who is not an admin', 'update users set admin = false'],
])('a key is generated if the only one %s', async (_, change) => {
  const db = await openTestDatabase();
  await bootstrap(db, ADMIN_KEY, BASE);
  await all(db, change);
  const { generated } = await bootstrap(db, undefined, BASE);
  expect(generated).toMatch(/^tnl_ak_/);
  expect(await bootstrap(db, undefined, BASE)).toEqual({});
  expect(await bootstrap(db, generated, BASE)).toEqual({});
});

test.each([
  ['tnl_ak_0123456789012345', 'tnl_ak_0123'],
  ['of-my-own-choice-0123456789', 'of-m'],
])('the given key %s is shown as %s', async (key, token_prefix) => {
  const db = await openTestDatabase();
  await bootstrap(db, key, BASE);
  expect(await all(db, 'select token_prefix from api_keys')).toEqual([{ token_prefix }]);
});

const BOT = newId('bot');
const TO_BOT = `with bot as (insert into bot_users (id, name, active, created_at, updated_at)
  values ('${BOT}', 'b', true, now(), now()) returning id) update api_keys set owner_id = bot.id from bot`;

test.each([
  ['whose owner is not an admin', 'update users set admin = false', true],
  ['whose owner is inactive', 'update users set active = false', true],
  ['that has expired', "update api_keys set expires_at = now() - interval '1s'", true],
  ['that expires later', "update api_keys set expires_at = now() + interval '1h'", false],
  ['of a bot', TO_BOT, true],
])('a given key %s is left as it is', async (_, change, isUnusable) => {
  const db = await openTestDatabase();
  await bootstrap(db, ADMIN_KEY, BASE);
  await all(db, change);
  const before = await everything(db);
  const unusable = (await all(db, KEYS))[0]?.id;
  expect(await bootstrap(db, ADMIN_KEY, BASE)).toEqual(isUnusable ? { unusable } : {});
  expect(await everything(db)).toEqual(before);
});

describe('the key of the operator', () => {
  const KEY = 'tnl_ak_operator_0123456789012345678901';

  test('belongs to a new user who is not an admin, and events record both', async () => {
    const db = await openTestDatabase();
    await bootstrapOperator(db, KEY, BASE);
    const [owner, ...otherOwners] = await all(db, USERS);
    const [made, ...otherKeys] = await all(db, KEYS);
    expect([otherOwners, otherKeys]).toEqual([[], []]);
    expect(owner).toMatchObject({ name: 'Bootstrap operator', admin: false, active: true });
    expect(made).toMatchObject({ owner_id: owner?.id, token_hash: tokenHash(KEY), expires_at: null });
    expect(await all(db, EVENTS)).toMatchObject([
      { type: 'user_created.v0', actor: owner?.id, resource_id: owner?.id, payload: { admin: false } },
      { type: 'api_key_created.v0', actor: owner?.id, resource_id: made?.id },
    ]);
  });

  test('is created once by processes that start at once', async () => {
    const db = await openTestDatabase();
    await Promise.all(Array.from({ length: 3 }, () => bootstrapOperator(db, KEY, BASE)));
    expect(await all(db, KEYS)).toHaveLength(1);
  });

  test('is left as it is, whoever owns it', async () => {
    const db = await openTestDatabase();
    await bootstrap(db, ADMIN_KEY, BASE);
    const before = await everything(db);
    await bootstrapOperator(db, ADMIN_KEY, BASE);
    expect(await everything(db)).toEqual(before);
  });

  test('does not count as the key of an admin', async () => {
    const db = await openTestDatabase();
    await bootstrapOperator(db, KEY, BASE);
    expect(await bootstrap(db, undefined, BASE)).toEqual({ generated: expect.stringMatching(/^tnl_ak_/) });
    const names = (await all(db, USERS)).map(({ name }) => name);
    expect(names.toSorted()).toEqual(['Bootstrap admin', 'Bootstrap operator']);
  });

  test.each([
    ['has not changed', 'update users set active = true'],
    ['has become an admin', 'update users set admin = true'],
    ['is inactive', 'update users set active = false'],
  ])('can be replaced: the next one belongs to the same user, who %s', async (_, change) => {
    const db = await openTestDatabase();
    await bootstrapOperator(db, KEY, BASE);
    await all(db, change);
    await bootstrapOperator(db, `${KEY}_another`, BASE);
    const [owner, ...others] = await all(db, USERS);
    expect(others).toEqual([]);
    expect((await all(db, KEYS)).map(({ owner_id }) => owner_id)).toEqual([owner?.id, owner?.id]);
  });

  test('cannot be that of the admin', () => {
    const check = (bootstrapApiKey?: string, operatorApiKey?: string) => () =>
      checkGivenKeys({ bootstrapApiKey, operatorApiKey });
    const message = "OPERATOR_API_KEY must differ from BOOTSTRAP_API_KEY, which is an admin's key";
    expect(check(KEY, KEY)).toThrow(new BadSettings(message));
    for (const fine of [check(), check(ADMIN_KEY, KEY)]) expect(fine).not.toThrow();
  });
});

test.each([
  ['BOOTSTRAP_API_KEY', bootstrap],
  ['OPERATOR_API_KEY', bootstrapOperator],
])('a key of another account in %s is named, and left as it is', async (setting, start) => {
  const db = await openTestDatabase();
  await bootstrap(db, undefined, BASE);
  await all(db, "insert into accounts select 'acc_other', name, created_at, updated_at from accounts");
  const move = `
    with moved as (update users set account_id = 'acc_other')
    update api_keys set account_id = 'acc_other', token_hash = $1`;
  await all(db, move, [tokenHash(ADMIN_KEY)]);
  const before = await everything(db);
  await expect(start(db, ADMIN_KEY, BASE)).rejects.toThrow(
    new BadSettings(`${setting} is a key of another account: set another key`),
  );
  expect(await everything(db)).toEqual(before);
});
