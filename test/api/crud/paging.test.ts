import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { buffersOf, explain, statementsOf } from '../../../dev/database/explain.ts';
import { fillTable, idOfRow } from '../../../dev/database/fill.ts';
import { REQUEST_ROLE } from '../../../src/api/store/account-scope.ts';
import * as deliveries from '../../../src/api/store/event-deliveries.ts';
import * as events from '../../../src/api/store/event-log.ts';
import { endStatement, logStatement } from '../../../src/api/store/log-page.ts';
import { FIRST, type PageQuery } from '../../../src/api/store/page-statement.ts';
import { repository } from '../../../src/api/store/repository.ts';
import { FIRST_ACCOUNT } from '../../../src/resources/account.ts';
import { filtersOf } from '../../../src/resources/definition/filter.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import type { Resource } from '../../../src/resources/definition/resource.ts';
import { eventLog } from '../../../src/resources/event.ts';
import { eventDelivery } from '../../../src/resources/event-delivery.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';
import { BASE, emptyDatabase, heldTransaction, startTestApi } from '../harness.ts';

const api = await startTestApi();
const { admin } = api;
const page = z.object({
  ip_policies: z.array(ipPolicy.view),
  uri: z.literal(`${BASE}/ip_policies`),
  next_page_uri: z.string().nullable(),
});

const create = async () => (await admin.post('/ip_policies', {})).as(ipPolicy.view).id;
const empty = () => api.rows('delete from ip_policies');
const read = async (path: string) => (await admin.get(path.replace(BASE, ''))).as(page);

/** Follows the links from the first page on; `between` runs after each page. */
async function walk(limit: number, between: () => Promise<unknown> = async () => undefined): Promise<string[]> {
  const seen: string[] = [];
  let next: string | null = `/ip_policies?limit=${limit}`;
  while (next !== null) {
    const { ip_policies, next_page_uri }: z.output<typeof page> = await read(next);
    expect(ip_policies.length).toBeLessThanOrEqual(limit);
    seen.push(...ip_policies.map(({ id }) => id));
    next = next_page_uri;
    await between();
  }
  return seen;
}

test.each([
  ['?limit', 'limit=101', 'must be a number from 1 to 100'],
  ['?limit', 'limit=007', 'must be a number from 1 to 100'],
  ['?before_id', `before_id=${newId('cr')}`, expect.stringContaining('ipp_')],
  ['?before_id', 'before_id=a&before_id=b', 'must be given only once'],
  ['?limit', 'limit=&limit=', 'must be given only once'],
])('a list names a wrong %s: %s', async (name, query, reason) => {
  expect((await admin.get(`/ip_policies?${query}`)).error.details[name]).toEqual(reason);
});

const change = fc.constantFrom('insert', 'delete-newest', 'delete-oldest', 'delete-middle', 'none');

test('following the pages of a changing list skips no row that stays and shows none twice', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 8 }),
      async (count, limit, changes) => {
        await empty();
        const present: string[] = [];
        for (let n = 0; n < count; n++) present.push(await create());
        const stayed = new Set(present);
        const schedule = changes[Symbol.iterator]();
        const seen = await walk(limit, async () => {
          for (const kind of schedule.next().value ?? []) {
            if (kind === 'insert') present.push(await create());
            const at = {
              'delete-newest': present.length - 1,
              'delete-oldest': 0,
              'delete-middle': present.length >> 1,
            };
            const index = kind in at ? at[kind as keyof typeof at] : -1;
            const [gone] = index >= 0 ? present.splice(index, 1) : [];
            if (gone === undefined) continue;
            stayed.delete(gone);
            await admin.delete(`/ip_policies/${gone}`);
          }
        });
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toEqual(seen.toSorted().reverse());
        expect(seen.filter((id) => stayed.has(id))).toEqual([...stayed].toSorted().reverse());
      },
    ),
    { numRuns: 40 },
  );
});

/** The column that limits a list to an owner or a parent. */
const scopeOf = ({ fields, parent }: Resource) => parent?.parameter ?? ('owner_id' in fields ? 'owner_id' : undefined);

/**
 * A value of a few very old rows among many of their account, and of all rows of another: the worst case for a walk from the
 * newest, and for one through all accounts.
 */
const RARE = 'usr_rare';
const FEW = 150;
/** Of the account: the oldest ones. */
const OWN = 2_000;
const ROWS = 20_000;
/** Few enough that reading in order is better than sorting, as it is for 100 of a larger table. */
const LIMIT = 20;
const rareOr = (other: string, rare = `'${RARE}'`) =>
  `case when n <= ${FEW} or n > ${OWN} then ${rare} else '${other}' end`;
const ACCOUNT = `case when n <= ${OWN} then '${RARE}' else 'acc_other' end`;
/** Sorts after the rare value. */
const OTHER = 'usr_rather';
/** Metadata of the few, which sorts by the number of the row. */
const metadataOf = (n: string) => `'${RARE}' || lpad(${n}, 6, '0')`;
/** A fresh database: in the other one, indexes still contain rows that tests have deleted. */
const fresh = await emptyDatabase();

/** Every way in which a list of the family can be limited, at the row with number `n` or at its start. */
function queriesOf(family: Resource, n: number | undefined): PageQuery[] {
  const scope = scopeOf(family);
  const before = n === undefined ? undefined : idOfRow(family.prefix, n);
  const within = scope === undefined ? [{}] : [{ [scope]: RARE }, ...(family.parent ? [] : [{}])];
  const account = family.access === 'platform' ? undefined : RARE;
  const filters = filtersOf(family).filter(({ field }) => field !== scope);
  return within.flatMap((only) => [
    { before, limit: LIMIT, account, only },
    { before, limit: LIMIT, account, only, from: idOfRow(family.prefix, 5) },
    ...filters.map(({ field: column, by }): PageQuery => {
      if (by === 'value') return { before, limit: LIMIT, account, only: { ...only, [column]: RARE } };
      if (by === 'element') return { before, limit: LIMIT, account, only, element: { column, value: RARE } };
      const start = n === undefined ? undefined : `${RARE}${String(n).padStart(6, '0')}`;
      return { before, limit: LIMIT, account, only, prefix: { column, value: RARE, before: start } };
    }),
  ]);
}

async function fillFamily(query: (text: string) => Promise<{ rows: unknown[] }>, family: Resource) {
  const { table, prefix } = family;
  const scope = scopeOf(family);
  const values = filtersOf(family).flatMap(({ field, by }) => {
    if (by === 'value') return family.fields[field]?.unique ? [] : [[field, rareOr(OTHER)]];
    return by === 'prefix' ? [[field, rareOr(OTHER, metadataOf('n::text'))]] : [];
  });
  const owner = scope === undefined ? {} : { [scope]: rareOr(OTHER) };
  const account = family.access === 'platform' ? {} : { account_id: ACCOUNT };
  await fillTable(query, family, ROWS, { ...Object.fromEntries(values), ...owner, ...account });
  for (const { field, by } of filtersOf(family)) {
    if (by !== 'element') continue;
    const [few, own] = [FEW, OWN].map((n) => idOfRow(prefix, n));
    const value = `case when id <= '${few}' or id > '${own}' then '${RARE}' else '${OTHER}' end`;
    await query(`insert into ${table}_${field} (account_id, value, id) select account_id, ${value}, id from ${table}`);
    await query(`analyze ${table}_${field}`);
  }
}

/** Runs what follows as requests of the account do: row level security keeps some conditions from an index. */
async function enterAccount(query: (text: string) => Promise<unknown>, account: string) {
  await query(`select set_config('tunnel_operator.account', '${account}', true)`);
  await query(`set local role ${REQUEST_ROLE}`);
}

describe.each(FAMILIES)('$table', (family) => {
  const rows = repository(family);
  const isUnique = ({ only = {} }: PageQuery) => Object.keys(only).some((column) => family.fields[column]?.unique);

  test('are read through an index alone, each page only from its start to its end', async () => {
    const held = await heldTransaction(fresh);
    try {
      await fillFamily(held.query, family);
      await enterAccount(held.query, family.access === 'platform' ? FIRST_ACCOUNT : RARE);
      for (const asked of [undefined, 120].flatMap((n) => queriesOf(family, n))) {
        const [statement] = await statementsOf((db) => rows.page(db, asked));
        for (const plan of ['generic', 'custom'] as const) {
          const lines = await explain(held.query, statement, { plan, analyze: true });
          const text = lines.join('\n');
          expect(text).toMatch(/^ *-> {2}Index Scan/m);
          expect(text).toMatch(/Index Cond: .*\bid\b|Index Cond: .*\bdomain\b/);
          // One row at most has a unique value. The policies are filters: that they hide no rows, the buffers show.
          const others = text.replaceAll(/Filter: (COALESCE\(\((t\.)?account_id|\(\(InitPlan 1\)\.col1) = .*/g, '');
          expect(others).not.toMatch(isUnique(asked) ? /Sort|Seq Scan/ : /Sort|Seq Scan|Filter/);
          // A list by an element reads the row of each from the table.
          expect(buffersOf(lines), text).toBeLessThan(asked.element ? 450 : 30);
        }
      }
    } finally {
      await held.rollback();
    }
  });
});

describe('a log', () => {
  const rare = { type: RARE, principal: RARE };
  const limit = LIMIT;
  /** What is not rare here is of another account: half of it of one resource. */
  const fewOr = (other: string) => `case when n <= ${FEW} then '${RARE}' else ${other} end`;
  const fewOrMany = fewOr(`case when n % 2 = 0 then '${OTHER}' else 'x' || n end`);
  const ofAccounts = { account_id: fewOr("'acc_other'"), resource_id: fewOrMany, type: fewOr("'other'") };
  const of = (prefix: string) => ({ before: idOfRow(prefix, 120), from: idOfRow(prefix, ROWS - 500) });
  /** As far as they look: with their end. */
  const { before, from } = of(eventLog.prefix);
  const ofEvents = [
    ...[undefined, before].flatMap((start) => [
      { before: start, limit },
      { before: start, limit, resourceId: RARE },
      { before: start, limit, resourceId: RARE, only: rare },
    ]),
    { limit, resourceId: OTHER },
    { from, limit, only: rare },
    { from, limit, visibleTo: RARE },
    { from: FIRST, before, limit, only: rare, visibleTo: RARE },
  ].map((query) => events.conditionsOf({ account: RARE, ...query }));
  const delivery = of(eventDelivery.prefix);
  const ofDeliveries = [
    ...[undefined, delivery.before].flatMap((start) => [
      { before: start, limit },
      { before: start, limit, only: { destination_id: RARE } },
      { before: start, limit, only: { resource_id: RARE, destination_id: OTHER } },
      { before: start, limit, only: { destination_id: RARE, state: 'failed', type: RARE, subscription_id: RARE } },
    ]),
    { limit, only: { resource_id: OTHER } },
    { limit, only: { destination_id: OTHER } },
    { from: delivery.from, limit, only: { state: 'failed' } },
    { from: delivery.from, limit, only: { subscription_id: RARE, type: RARE } },
  ].map((query) => deliveries.conditionsOf({ account: RARE, ...query }));

  test.each([
    ['events', eventLog, events.EVENT_LOG, ofEvents, { ...ofAccounts, actor: fewOr("'other'") }],
    [
      'deliveries',
      eventDelivery,
      deliveries.DELIVERIES,
      ofDeliveries,
      {
        ...ofAccounts,
        destination_id: fewOrMany,
        state: "case when n % 100 = 0 then 'failed' else 'delivered' end",
      },
    ],
  ] as const)(
    'of %s is read through an index, each page only from its start to its end or as far as it looks',
    async (_, filled, log, queries, values) => {
      const held = await heldTransaction(fresh);
      try {
        await fillTable(held.query, filled, ROWS, values);
        await enterAccount(held.query, RARE);
        const ends = queries.slice(0, 2).map((query) => endStatement(log, query, 100));
        for (const statement of [...ends, ...queries.map((query) => logStatement(log, query))]) {
          for (const plan of ['generic', 'custom'] as const) {
            const lines = await explain(held.query, statement, { plan, analyze: true });
            const text = lines.join('\n');
            expect(text).toMatch(/Index (Only )?Scan/);
            expect(text).not.toMatch(/Sort|Seq Scan/);
            expect(buffersOf(lines), text).toBeLessThan(30);
          }
        }
      } finally {
        await held.rollback();
      }
    },
  );
});
