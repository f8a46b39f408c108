/** Pages without a database; paging.test.ts walks through real ones. */
import { describe, expect, test } from 'vitest';
import { listQuery } from '../../../src/api/crud/list-query.ts';
import { pageJson } from '../../../src/api/crud/paging.ts';
import { MAX_PAGE_BYTES } from '../../../src/api/guard/bytes-in-flight.ts';
import { ipPolicy } from '../../../src/resources/ip-policy.ts';

const uri = 'http://api.example/things';
const row = (id: string, more: object = {}) => ({ id, created_at: '', revision: 1, ...more });
type Rows = ReturnType<typeof row>[];

/** A page as a client reads it; each row has its id and `fill`. */
function pageOf(rows: Rows, more: boolean, fill = '') {
  const next = ({ id }: { id: string }) => `before_id=${id}&limit=7`;
  const json = pageJson({ rows, more }, ({ id }) => ({ id, fill }), { name: 'things', uri, next });
  const { things, ...rest } = JSON.parse(json);
  return { ids: things.map(({ id }: { id: string }) => id), ...rest };
}

describe('a page', () => {
  const rows = [row('t_3'), row('t_2'), row('t_1')];
  const next = (id: string) => `${uri}?before_id=${id}&limit=7`;

  test('has all rows, and the address of the next page only if there are more', () => {
    expect(pageOf(rows, false)).toEqual({ ids: ['t_3', 't_2', 't_1'], uri, next_page_uri: null });
    expect(pageOf(rows, true)).toEqual({ ids: ['t_3', 't_2', 't_1'], uri, next_page_uri: next('t_1') });
    expect(pageOf([], false)).toEqual({ ids: [], uri, next_page_uri: null });
  });

  test('ends before it is too large, and the next page starts after its last item', () => {
    // Two items with their commas are exactly as large as a page may be.
    const half = MAX_PAGE_BYTES / 2 - '{"id":"t_3","fill":""},'.length;
    expect(pageOf(rows, false, 'x'.repeat(half))).toEqual({ ids: ['t_3', 't_2'], uri, next_page_uri: next('t_2') });
    expect(pageOf(rows, false, '\u20ac'.repeat(half / 3 + 1))).toMatchObject({ ids: ['t_3'] });
    expect(pageOf(rows, false, 'x'.repeat(half + 1))).toEqual({ ids: ['t_3'], uri, next_page_uri: next('t_3') });
  });

  test('has at least one item, however large', () => {
    const large = 'x'.repeat(MAX_PAGE_BYTES);
    expect(pageOf(rows, false, large)).toMatchObject({ ids: ['t_3'], next_page_uri: next('t_3') });
    expect(pageOf([row('t_1')], false, large)).toMatchObject({ ids: ['t_1'], next_page_uri: null });
  });
});

test.each([
  [{}, {}],
  [{ limit: '1' }, { limit: 1 }],
  [{ limit: '100' }, { limit: 100 }],
  [{ limit: '' }, {}],
  [{ limit: '0' }, undefined],
  [{ limit: '101' }, undefined],
  [{ more: '1' }, undefined],
])('a list reads the query %j as %j', (query, expected) => {
  expect(listQuery({ resource: ipPolicy, filters: [] }).safeParse(query).data).toEqual(expected);
});
