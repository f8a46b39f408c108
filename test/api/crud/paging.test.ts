import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { buffersOf, explain, statementsOf } from '../../../dev/database/explain.ts';
import { fillTable, idOfRow } from '../../../dev/database/fill.ts';
import { MAX_PAGE_BYTES } from '../../../src/api/guard/bytes-in-flight.ts';
import type { Executor } from '../../../src/api/store/database.ts';
import { repository } from '../../../src/api/store/repository.ts';
import { newId } from '../../../src/resources/definition/id.ts';
import type { Resource } from '../../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { httpResponseBackend } from '../../../src/resources/http-response-backend.ts';
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

describe('a list', () => {
  test('has 100 items to a page unless asked for fewer, and the next page only if there is more', async () => {
    await empty();
    for (let n = 0; n < 100; n++) await create();
    expect((await read('/ip_policies')).next_page_uri).toBeNull();
    expect((await read('/ip_policies?limit=100')).ip_policies).toHaveLength(100);
    await create();
    const first = await read('/ip_policies');
    expect(first.ip_policies).toHaveLength(100);
    const last = first.ip_policies.at(-1)?.id;
    expect(first.next_page_uri).toBe(`${BASE}/ip_policies?before_id=${last}&limit=100`);
    const second = await read(first.next_page_uri ?? '');
    expect(second.ip_policies).toHaveLength(1);
    expect(second.next_page_uri).toBeNull();
  });

  test.each(['0', '101', '-1', '1.5', '1e1', 'all', '007', '99999999999999999999'])(
    'has no limit "%s"',
    async (limit) => {
      const { error } = await admin.get(`/ip_policies?limit=${limit}`);
      expect(error.details['?limit']).toBe('must be a number from 1 to 100');
    },
  );

  test.each(['nonsense', newId('cr')])('does not start before "%s"', async (id) => {
    const { error } = await admin.get(`/ip_policies?before_id=${id}`);
    expect(error).toMatchObject({
      error_code: 'INVALID_REQUEST',
      details: { '?before_id': expect.stringContaining('ipp_') },
    });
  });

  test.each(['before_id=', 'limit=', 'before_id=&limit='])('with "?%s" is the list without it', async (query) => {
    const own = await read('/ip_policies');
    expect(own.ip_policies.length).toBeGreaterThan(0);
    expect(await read(`/ip_policies?${query}`)).toEqual(own);
  });

  test('takes no empty parameter that it does not know', async () => {
    const { error } = await admin.get('/ip_policies?offset=');
    expect(error.details['?offset']).toBe('unknown query parameter');
  });

  test('takes each parameter once', async () => {
    expect((await admin.get('/ip_policies?limit=&limit=')).error.details['?limit']).toBe('must be given only once');

    expect((await admin.get('/ip_policies?limit=1&limit=2')).error.details['?limit']).toBe('must be given only once');
    const twice = `before_id=${newId('ipp')}`;
    const { error } = await admin.get(`/ip_policies?${twice}&${twice}`);
    expect(error.details['?before_id']).toBe('must be given only once');
  });

  test('of rules takes no filter', async () => {
    const { error } = await admin.get(`/ip_policy_rules?ip_policy_id=${newId('ipp')}`);
    expect(error.details['?ip_policy_id']).toBe('unknown query parameter');
  });

  test('goes on from an id that is deleted by now', async () => {
    await empty();
    const ids = [await create(), await create(), await create()];
    await admin.delete(`/ip_policies/${ids[1]}`);
    expect((await read(`/ip_policies?before_id=${ids[1]}`)).ip_policies.map(({ id }) => id)).toEqual([ids[0]]);
  });

  test('is empty, not wrong, when there is nothing', async () => {
    await empty();
    expect(await read('/ip_policies')).toMatchObject({ ip_policies: [], next_page_uri: null });
  });
});

describe('following the pages of a list that changes meanwhile', () => {
  const change = fc.constantFrom('insert', 'delete-newest', 'delete-oldest', 'delete-middle', 'none');

  test('skips nothing that stays and shows nothing twice', async () => {
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

  test('holds with writers at work all the time', async () => {
    await empty();
    const stay = await Promise.all(Array.from({ length: 60 }, create));
    let walking = true;
    const writers = Array.from({ length: 4 }, async () => {
      while (walking) await admin.delete(`/ip_policies/${await create()}`);
    });
    for (const limit of [1, 7, 20]) {
      const seen = await walk(limit);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((id) => stay.includes(id))).toEqual(stay.toSorted().reverse());
    }
    walking = false;
    await Promise.all(writers);
  });
});

/** Columns that limit a list: to what somebody owns, to what lives in one resource. */
const scopeOf = ({ fields, parent }: Resource) => parent?.parameter ?? ('owner_id' in fields ? 'owner_id' : undefined);

/** Somebody with few rows among many, and the oldest of all: the worst place for whoever walks from the newest. */
const RARE = 'usr_rare';
const ROWS = 20_000;
/** Without the rows that other tests have deleted, which an index still leads to. */
const fresh = await emptyDatabase();

describe.each(FAMILIES.map((family) => ({ family, scope: scopeOf(family) })))('$family.table', ({ family, scope }) => {
  const rows = repository(family);
  const within = scope === undefined ? [{}] : [{ [scope]: RARE }, ...(family.parent ? [] : [{}])];

  test('are read by an index alone, each page from where it starts to where it ends', async () => {
    const held = await heldTransaction(fresh);
    try {
      const owner = `case when n <= 150 then '${RARE}' else 'usr_other' end`;
      await fillTable(held.query, family, ROWS, scope === undefined ? {} : { [scope]: owner });
      for (const only of within) {
        for (const before of [undefined, idOfRow(family.prefix, 120)]) {
          const [statement] = await statementsOf((db) => rows.page(db, { before, limit: 100, only }));
          for (const plan of ['generic', 'custom'] as const) {
            const lines = await explain(held.query, statement, { plan, analyze: true });
            const text = lines.join('\n');
            expect(text).toMatch(/^ *-> {2}Index Scan/m);
            expect(text).toMatch(/Index Cond: .*\bid\b/);
            expect(text).not.toMatch(/Sort|Seq Scan|Filter/);
            expect(buffersOf(lines)).toBeLessThan(30);
          }
        }
      }
    } finally {
      await held.rollback();
    }
  });
});

describe('a page is bounded by its bytes', () => {
  const list = z.object({
    backends: z.array(httpResponseBackend.view),
    next_page_uri: z.string().nullable(),
  });

  test.each([
    ['as they are stored', 'x'.repeat(65_536)],
    ['as they are written in JSON', '\u0001'.repeat(65_536)],
    ['in UTF-8', '€'.repeat(21_845)],
  ])('%s, which following the links does not feel', async (_, body) => {
    await api.rows('delete from http_response_backends');
    const ids: string[] = [];
    for (let n = 0; n < 40; n++) {
      ids.unshift((await admin.post('/backends/http_response', { body })).as(httpResponseBackend.view).id);
    }
    const seen: string[] = [];
    for (let next: string | null = '/backends/http_response?limit=60'; next !== null; ) {
      const reply = await admin.get(next.replace(BASE, ''));
      const page = reply.as(list);
      expect(Buffer.byteLength(reply.text)).toBeLessThan(MAX_PAGE_BYTES + 1024);
      // As many as there is room for.
      if (page.next_page_uri !== null) {
        expect(page.next_page_uri).toMatch(/&limit=60$/);
        const item = Buffer.byteLength(JSON.stringify(page.backends[0]));
        expect(Buffer.byteLength(reply.text)).toBeGreaterThan(MAX_PAGE_BYTES - 2 * item);
      }
      seen.push(...page.backends.map(({ id }) => id));
      next = page.next_page_uri;
    }
    expect(seen).toEqual(ids);
  });

  test('already when it is read, so that the process never holds more', async () => {
    const rows = repository(httpResponseBackend);
    let kept = 0;
    const counting: Executor = {
      async query(statement) {
        const found = await api.db.query(statement);
        kept = found.length;
        return found;
      },
    };
    const page = await rows.page(counting, { limit: 40, maxBytes: 300_000 });
    expect(page.more).toBe(true);
    expect(page.rows.length).toBe(kept);
    expect(kept).toBe(4);
    // One row is always there, however large.
    expect(await rows.page(api.db, { limit: 40, maxBytes: 1 })).toMatchObject({ rows: [{}], more: true });
  });
});
