/** Pages of the audit log that look at a limited number of events. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LogQuery, pageOfLog } from '../../../src/api/store/event-log.ts';
import { FIRST_ACCOUNT } from '../../../src/resources/account.ts';
import { firstIdAt } from '../../../src/resources/definition/id.ts';
import { openTestDatabase } from '../harness.ts';

const db = (await openTestDatabase()).within(FIRST_ACCOUNT);
const idOf = (n: number) => firstIdAt('ev', new Date(1_700_000_000_000 + n));
const COUNT = 40;

/** Each third event is about one API key, each fifth by `one`, and each seventh of what `one` owns. */
const isOf = (n: number) => (n % 3 === 0 ? 'ak_a' : 'cr_b');
const actorOf = (n: number) => (n % 5 === 0 ? 'one' : 'other');
const ownerOf = (n: number) => (n % 7 === 0 ? 'one' : 'other');
const events = Array.from({ length: COUNT }, (_, n) => ({
  id: idOf(n),
  type: n < 4 ? 'rare' : 'usual',
  occurred_at: new Date(n).toISOString(),
  actor: actorOf(n),
  resource_id: isOf(n),
  payload: { owner_id: ownerOf(n) },
}));
await db.query({
  text: `insert into events (id, type, occurred_at, actor, resource_id, payload)
         select id, type, occurred_at, actor, resource_id, payload from jsonb_populate_recordset(null::events, $1::jsonb)`,
  values: [JSON.stringify(events)],
});

async function walk(query: Omit<LogQuery, 'before'>): Promise<string[]> {
  const seen: string[] = [];
  let before: string | undefined;
  do {
    const { rows, next } = await pageOfLog(db, { ...query, before });
    expect(rows.length).toBeLessThanOrEqual(query.limit);
    seen.push(...rows.map(({ id }) => id));
    before = next;
  } while (before !== undefined);
  return seen;
}

const maybe = <T>(value: T) => fc.constantFrom(undefined, value);

test('following the pages shows every event that fits once, newest first, however few of them a page looks at', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        limit: fc.integer({ min: 1, max: 5 }),
        lookedAt: fc.integer({ min: 1, max: 9 }),
        from: maybe(idOf(2)),
        resourceId: maybe('ak_a'),
        type: maybe('rare'),
        visibleTo: maybe('one'),
      }),
      async ({ type, ...query }) => {
        const { from = '', resourceId, visibleTo } = query;
        const fitting = events.filter(
          (event, n) =>
            event.id >= from &&
            (resourceId === undefined || event.resource_id === resourceId) &&
            (type === undefined || event.type === type) &&
            (visibleTo === undefined || actorOf(n) === visibleTo || ownerOf(n) === visibleTo),
        );
        const seen = await walk({ ...query, account: FIRST_ACCOUNT, only: type === undefined ? {} : { type } });
        expect(seen).toEqual(fitting.map(({ id }) => id).toReversed());
      },
    ),
    { numRuns: 60 },
  );
});
