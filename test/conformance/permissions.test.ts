/** Tries every cell of the table of permissions. */
import { describe, expect, test } from 'vitest';
import {
  CALLERS,
  type CallerKind,
  PERMISSIONS,
  SCOPED_KEY,
  SCOPES,
  type Verdict,
} from '../../dev/conformance/permissions.ts';
import type { Role } from '../../dev/conformance/row.ts';
import { SECTIONS } from '../../dev/conformance/sections.ts';
import { fill } from '../../dev/fixtures/placeholders.ts';
import { apiKey } from '../../src/resources/api-key.ts';
import type { Caller } from '../api/harness.ts';
import { document } from '../api/openapi/openapi-check.ts';
import { type Documented, readContract } from './coverage.ts';
import { prepare, send } from './play.ts';
import { simplest } from './valid-request.ts';
import { createWorld } from './world.ts';

const world = await createWorld();
const { api } = world;
const contract = readContract(document);

const inactiveBot = await api.newBot();
await api.admin.patch(`/bot_users/${inactiveBot.id}`, { active: false });
const expired = await api.newUser({ admin: true });
await api.rows("update api_keys set expires_at = now() - interval '1 second' where owner_user_id = $1", [expired.id]);

const viewer = await api.newBot();
const becomes = (role: 'editor' | 'viewer') => api.admin.patch(`/bot_users/${viewer.id}`, { role });
await becomes('viewer');
const scoped = (await api.admin.post('/api_keys', { scopes: SCOPES })).as(apiKey.view);

const KINDS: readonly CallerKind[] = [...CALLERS, SCOPED_KEY];
const callers: Readonly<Record<CallerKind, Caller>> = {
  admin: api.admin,
  user: world.callers.user,
  'active bot': world.callers.bot,
  viewer,
  [SCOPED_KEY]: api.withKey(api.admin.id, String(scoped.token)),
  'inactive bot': inactiveBot,
  'expired key': expired,
  'no key': api.anonymous,
};

const as = (caller: Caller): Readonly<Record<Role, Caller>> => ({ ...world.callers, admin: caller });
/** Every change writes an event. */
const changes = async () => (await api.rows('select count(*) from events'))[0]?.count;

test('the table has every operation, and no other', () => {
  expect(Object.keys(PERMISSIONS).sort()).toEqual(contract.operations.map(({ name }) => name).sort());
});

describe.each(contract.operations)('$name', (operation) => {
  const row = simplest(operation, contract, SECTIONS);
  const verdicts = PERMISSIONS[operation.name];

  test.each(KINDS.map((kind) => [kind, verdicts?.[kind]] as const))('%s: %s', async (kind, verdict) => {
    const caller = callers[kind];
    if (verdict === 'own') return tryOwned(operation, caller, kind);
    const known = await prepare(row, world.callers, world.values());
    const before = await changes();
    const reply = await send(row.ask, as(caller), known);
    if (verdict === 'yes') expect(reply.status, reply.text).toBe(row.answer.status);
    else await expectRefused(reply, verdict, before);
  });

  async function tryOwned({ method, name }: Documented, caller: Caller, kind: CallerKind): Promise<void> {
    // What a viewer owns is from the time when it was an editor.
    if (kind === 'viewer') await becomes('editor');
    const theirs = await prepare(row, as(caller), world.values());
    if (kind === 'viewer') await becomes('viewer');
    const reply = await send(row.ask, as(caller), theirs);
    expect(reply.status, reply.text).toBe(row.answer.status);

    const anothers = await prepare(row, world.callers, world.values());
    const before = await changes();
    if (name.includes('{id}')) {
      await expectRefused(await send(row.ask, as(caller), anothers), 404, before);
    } else if (method === 'POST') {
      const { path, body } = fill(row.ask, anothers);
      await expectRefused(await caller.post(path, { ...(body as object), owner_id: api.admin.id }), 403, before);
    } else {
      const made = fill('{made.id}', anothers);
      expect((await caller.get(row.ask.path)).text).not.toContain(made);
      expect((await api.admin.get(row.ask.path)).text).toContain(made);
    }
  }
});

async function expectRefused(
  reply: Awaited<ReturnType<typeof send>>,
  verdict: Exclude<Verdict, 'yes' | 'own'> | 404 | undefined,
  before: unknown,
): Promise<void> {
  expect(reply.error.status_code, reply.text).toBe(verdict);
  expect(await changes()).toBe(before);
}
