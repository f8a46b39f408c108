/** Tries every operation of one account with what belongs to another: it must be as if that did not exist. */
import { describe, expect, test } from 'vitest';
import { get, post, type Role, type Step } from '../../dev/conformance/row.ts';
import { SECTIONS } from '../../dev/conformance/sections.ts';
import { fill, mapLeaves, namesIn, type Values } from '../../dev/fixtures/placeholders.ts';
import { ACCOUNT_HEADER, account } from '../../src/resources/account.ts';
import { apiKey } from '../../src/resources/api-key.ts';
import { newId } from '../../src/resources/definition/id.ts';
import { eventDestination } from '../../src/resources/event-destination.ts';
import { FAMILIES } from '../../src/resources/families.ts';
import { user } from '../../src/resources/user.ts';
import type { Caller, Reply, TestApi } from '../api/harness.ts';
import { document } from '../api/openapi/openapi-check.ts';
import { readContract } from './coverage.ts';
import { ID, idsIn } from './ids.ts';
import { prepare, send } from './play.ts';
import { simplest, withId } from './valid-request.ts';
import { plainly } from './witness.ts';
import type { World } from './world.ts';

const contract = readContract(document);
const LONG_AGO = '2020-01-01T00:00:00Z';
/** Values of every row that belong to the first account. */
const OF_FIRST = ['delivery', 'user', 'bot'];

export interface TwoAccounts {
  /** Its admin is one of the first account who never visits another. */
  world: World;
  other: {
    id: string;
    admin: Caller;
    /** Ids that it may see beside those of its resources: of the account, and of the platform admin who visits it. */
    knows: ReadonlySet<string>;
  };
}

/** Another account, with its admin, beside the first one. */
export async function addAccount({ api, callers, values }: World): Promise<TwoAccounts> {
  const { id } = (await api.admin.post('/accounts', { name: 'other' })).as(account.view);
  const there = { [ACCOUNT_HEADER]: id };
  const owner = (await api.admin.post('/users', { name: 'other', admin: true }, there)).as(user.view);
  const { token } = (await api.admin.post('/api_keys', { owner_id: owner.id }, there)).as(apiKey.view);
  const { text } = await api.admin.get(`/api_keys?filter[owner_id]=${api.admin.id}`);
  const insider = await api.newUser({ admin: true });
  return {
    world: {
      api,
      callers: { ...callers, admin: insider },
      values: () => ({ ...values(), admin: { id: insider.id } }),
    },
    other: { id, admin: api.withKey(owner.id, String(token)), knows: idsIn(text + id) },
  };
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

/** An id that nothing has, of the same moment. */
const neighbour = (id: string) => id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');

/** The admin of the other account tries to reach what the first one has. */
export function describeOperations({ world: { api, callers, values }, other }: TwoAccounts): void {
  const stranger: Readonly<Record<Role, Caller>> = { ...callers, admin: other.admin };
  const changes = async () => (await api.rows('select count(*) from events'))[0]?.count;

  /** Sends a request of the stranger; fails the test if the answer, or its log, has one of these ids that was not sent. */
  async function ask(step: Step, known: ReadonlySet<string>): Promise<Reply> {
    const lines = api.logs.length;
    const reply = await plainly(step, stranger[step.as ?? 'admin']);
    expect(api.logs.length).toBeGreaterThan(lines);
    const shown = idsIn(reply.text + JSON.stringify(reply.headers) + api.logs.slice(lines));
    const sent = idsIn(JSON.stringify(step));
    expect([...shown.intersection(known).difference(sent).difference(other.knows)]).toEqual([]);
    return reply;
  }

  describe.each(contract.operations)('$name', (operation) => {
    const row = simplest(operation, contract, SECTIONS);
    const of = (known: Values) => fill(row.ask, known);
    /** Whether it names resources of the first account. */
    const isAbout = namesIn([row.ask.path, row.ask.body]).some((name) =>
      [...OF_FIRST, ...Object.keys(row.given ?? {})].includes(name),
    );

    test('reveals nothing of another account, and changes nothing there', async () => {
      const theirs = await prepare(row, callers, values());
      const ids = idsIn(JSON.stringify(theirs));
      const before = await changes();
      const reply = await ask(of(theirs), ids);
      if (!isAbout) return;
      const missing = await ask(of(unknown(theirs)), ids);
      expect({ status: reply.status, text: withoutIds(reply.text) }).toEqual({
        status: missing.status,
        text: withoutIds(missing.text),
      });
      // A list is empty instead.
      if (operation.idsInQuery.length === 0) expect(reply.status, reply.text).toBeGreaterThanOrEqual(400);
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

  /** The answers to a request with an id of the first account, and with one that nothing has, must be the same. */
  async function compare(id: string, known: ReadonlySet<string>, request: (id: string) => Step): Promise<void> {
    const answer = async (sent: string) => {
      const { status, text } = await ask(request(sent), known);
      return { status, text: text.replaceAll(sent, '…').replace(REQUEST_ID, '') };
    };
    expect(await answer(id)).toEqual(await answer(neighbour(id)));
  }

  const queries = contract.operations.flatMap((operation) => operation.idsInQuery.map((name) => ({ operation, name })));

  test.each(queries)('$operation.name?$name finds nothing by an id of another account', async ({ operation, name }) => {
    const { row, before, path, id } = withId(operation, name, contract, SECTIONS);
    const theirs = await prepare(row, callers, values());
    for (const step of before) await send(step, callers, theirs);
    const sent = fill(id, theirs);
    const list = (at: string) => (value: string) => get(`${at}?${name}=${value}`);
    const found = await plainly(list(fill(path, theirs))(sent), callers.admin);
    const known = idsIn(JSON.stringify(theirs) + found.text);
    // It finds something in its own account, unless it is where the page starts.
    if (name !== 'before_id') expect([...idsIn(found.text)].some((id) => id !== sent)).toBe(true);
    const mine = namesIn(path).length > 0 ? await prepare(row, stranger, values()) : {};
    await compare(sent, known, list(fill(path, mine)));
  });

  test('a replay does not start after a delivery of another account', async () => {
    const target = { webhook: { url: 'https://hooks.tunnels.test/theirs' } };
    const { id } = (await other.admin.post('/event_destinations', { target })).as(eventDestination.view);
    const theirs = fill('{delivery.replayed}', values());
    const replay = (after_id: string) => post(`/event_destinations/${id}/replay`, { since: LONG_AGO, after_id });
    await compare(theirs, new Set([theirs]), replay);
  });
}
