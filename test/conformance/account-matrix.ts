/** Tries every operation of one account with what belongs to another: it must be as if that did not exist. */
import { describe, expect, test } from 'vitest';
import type { Role } from '../../dev/conformance/row.ts';
import { SECTIONS } from '../../dev/conformance/sections.ts';
import { fill, mapLeaves, namesIn, type Values } from '../../dev/fixtures/placeholders.ts';
import { ACCOUNT_HEADER, account } from '../../src/resources/account.ts';
import { apiKey } from '../../src/resources/api-key.ts';
import { newId } from '../../src/resources/definition/id.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { user } from '../../src/resources/user.ts';
import type { Caller, Reply, TestApi } from '../api/harness.ts';
import { document } from '../api/openapi/openapi-check.ts';
import { readContract } from './coverage.ts';
import { ID, idsIn } from './ids.ts';
import { prepare, send } from './play.ts';
import { simplest } from './valid-request.ts';
import type { World } from './world.ts';

const contract = readContract(document);

interface Account {
  id: string;
  admin: Caller;
}

/** A new account with its admin. */
export async function newAccount(api: TestApi, name: string): Promise<Account> {
  const { id } = (await api.admin.post('/accounts', { name })).as(account.view);
  const there = { [ACCOUNT_HEADER]: id };
  const owner = (await api.admin.post('/users', { name, admin: true }, there)).as(user.view);
  const { token } = (await api.admin.post('/api_keys', { owner_id: owner.id }, there)).as(apiKey.view);
  return { id, admin: api.withKey(owner.id, String(token)) };
}

/** Switches row level security of all tables. */
export async function switchPolicies(api: TestApi, to: 'enable' | 'disable'): Promise<void> {
  const tables = await api.rows(`
    select quote_ident(relname) as name from pg_class join pg_policy on polrelid = pg_class.oid
     where relnamespace = current_schema()::regnamespace`);
  expect(tables.length).toBeGreaterThan(FAMILIES.length);
  for (const { name } of tables) await api.rows(`alter table ${name} ${to} row level security`);
}

const REQUEST_ID = /"request_id":"[^"]+"/;
const withoutIds = (text: string) => text.replaceAll(ID, '$1_…').replace(REQUEST_ID, '');
/** The same values with ids that nothing has. */
const unknown = (values: Values): Values =>
  mapLeaves(values, (leaf) =>
    typeof leaf === 'string' ? leaf.replaceAll(ID, (_, prefix: string) => newId(prefix)) : leaf,
  ) as Values;

/** @param other an account beside the first one, whose admin tries to reach what the first one has */
export function describeOperations({ api, callers, values }: World, other: Account): void {
  const stranger: Readonly<Record<Role, Caller>> = { ...callers, admin: other.admin };
  const changes = async () => (await api.rows('select count(*) from events'))[0]?.count;

  /** The ids in an answer, and in the log of its request, that the request does not have. */
  const revealed = (reply: Reply, log: readonly string[], sent: unknown, known: ReadonlySet<string>) =>
    [...idsIn(reply.text + JSON.stringify(reply.headers) + log).difference(idsIn(JSON.stringify(sent)))].filter(
      // The platform admin has made the other account, so its log has their id.
      (id) => known.has(id) && id !== api.admin.id,
    );

  describe.each(contract.operations)('$name', (operation) => {
    const row = simplest(operation, contract, SECTIONS);
    const of = (known: Values) => fill(row.ask, known);
    /** Whether it names resources that the row has made. */
    const isAbout = namesIn([row.ask.path, row.ask.body]).some((name) => name in (row.given ?? {}));

    test('reveals nothing of another account, and changes nothing there', async () => {
      const theirs = await prepare(row, callers, values());
      const ids = idsIn(JSON.stringify(theirs));
      const before = await changes();
      const lines = api.logs.length;
      const reply = await send(row.ask, stranger, theirs);
      expect(api.logs.length).toBeGreaterThan(lines);
      expect(revealed(reply, api.logs.slice(lines), of(theirs), ids)).toEqual([]);
      if (!isAbout) return;
      const strange = unknown(theirs);
      const missing = await send(row.ask, stranger, strange);
      expect({ status: reply.status, text: withoutIds(reply.text) }).toEqual({
        status: missing.status,
        text: withoutIds(missing.text),
      });
      expect(reply.status, reply.text).toBeGreaterThanOrEqual(400);
      expect(await changes()).toBe(before);
    });

    test('works within an account that a platform admin has chosen', async () => {
      const inside = { [ACCOUNT_HEADER]: other.id };
      // These need no account, or something that the service makes by itself.
      if (operation.name.includes('/accounts') || namesIn(row).includes('delivery')) return;
      const within = await prepare(row, stranger, values());
      const { headers, ...step } = of(within);
      // Who visits owns nothing there.
      const owned = ['/api_keys', '/credentials'].includes(step.path) && step.method === 'POST';
      const body = owned ? { ...Object(step.body), owner_id: other.admin.id } : step.body;
      const reply = await api.admin.send(step.method, step.path, { body, headers: { ...headers, ...inside } });
      expect(reply.status, reply.text).toBe(row.answer.status);
    });
  });
}
