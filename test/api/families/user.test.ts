import { expect, test } from 'vitest';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;

test('the last active admin may still be renamed', async () => {
  expect((await admin.patch(`/users/${admin.id}`, { name: 'renamed' })).status).toBe(200);
});

test('one admin remains when two demote each other at the same moment', async () => {
  const second = await api.newUser({ admin: true });
  const replies = await Promise.all([
    admin.patch(`/users/${second.id}`, { admin: false }),
    second.patch(`/users/${admin.id}`, { admin: false }),
  ]);
  expect(replies.map(({ status }) => status).sort()).not.toEqual([200, 200]);
  expect(await api.rows('select id from users where admin and active')).toHaveLength(1);
});

test.each([
  [5, 5],
  [8, 6],
])('the error on deleting a bot with %i credentials has %i entries', async (count, named) => {
  const fresh = await startTestApi();
  const bot = await fresh.newBot();
  for (let n = 0; n < count; n++) await fresh.admin.post('/credentials', { owner_id: bot.id });
  const { error } = await fresh.admin.delete(`/bot_users/${bot.id}`);
  const entries = error.details.credentials?.split(', ') ?? [];
  expect(entries).toHaveLength(named);
  expect(entries.includes('…')).toBe(count > 5);
});
