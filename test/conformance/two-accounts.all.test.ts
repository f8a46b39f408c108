/** Plays the conformance table as two accounts at once: each must find what it finds alone, and nothing of the other. */
import { expect, test } from 'vitest';
import type { Role, Row } from '../../dev/conformance/row.ts';
import { SECTIONS } from '../../dev/conformance/sections.ts';
import { ACCOUNT_HEADER, account } from '../../src/resources/account.ts';
import { apiKey } from '../../src/resources/api-key.ts';
import { botUser } from '../../src/resources/bot-user.ts';
import { user } from '../../src/resources/user.ts';
import type { Caller } from '../api/harness.ts';
import { document } from '../api/openapi/openapi-check.ts';
import { idsIn } from './ids.ts';
import { play } from './play.ts';
import { type Ask, plainly } from './witness.ts';
import { createWorld } from './world.ts';

const world = await createWorld();
const { api } = world;
const DOCUMENTED = idsIn(JSON.stringify(document));

/** Not those that need the first account, a server of its own, or deliveries, which the service makes by itself. */
const isForAnyAccount = (row: Row) => !/\/accounts|acc_|\{delivery|"settings"/.test(JSON.stringify(row));
const ROWS = SECTIONS.flatMap(({ rows }) => rows).filter(isForAnyAccount);

async function newSide(name: string) {
  const there = { [ACCOUNT_HEADER]: (await api.admin.post('/accounts', { name })).as(account.view).id };
  const keyOf = async (id: string): Promise<Caller> => {
    const { token } = (await api.admin.post('/api_keys', { owner_id: id }, there)).as(apiKey.view);
    return api.withKey(id, String(token));
  };
  const [admin, person, bot] = [
    (await api.admin.post('/users', { name, admin: true }, there)).as(user.view),
    (await api.admin.post('/users', { name }, there)).as(user.view),
    (await api.admin.post('/bot_users', { name }, there)).as(botUser.view),
  ];
  const callers: Record<Role, Caller> = {
    admin: await keyOf(admin.id),
    user: await keyOf(person.id),
    bot: await keyOf(bot.id),
    anonymous: api.anonymous,
  };
  const seen = new Set<string>();
  const ask: Ask = async (request, caller) => {
    const reply = await plainly(request, caller);
    for (const id of idsIn(reply.text).difference(DOCUMENTED)) seen.add(id);
    return reply;
  };
  const values = () => ({ ...world.values(), admin: { id: admin.id }, user: { id: person.id }, bot: { id: bot.id } });
  return { seen, play: (row: Row) => play(row, callers, values(), ask) };
}

test('two accounts that play all rows at once get the same answers, and no id of each other', async () => {
  const sides = [await newSide('one'), await newSide('other')];
  const failures: string[] = [];
  await Promise.all(
    sides.map(async (side) => {
      for (const row of ROWS)
        await side.play(row).catch((error: Error) => failures.push(`${row.rule}: ${error.message}`));
    }),
  );
  expect(failures).toEqual([]);
  const [one, other] = sides.map(({ seen }) => seen);
  expect(one?.size).toBeGreaterThan(ROWS.length);
  expect([...(one ?? [])].filter((id) => other?.has(id))).toEqual([]);
});
