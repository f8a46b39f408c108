/** Which tables are asked; what they have is tested with the sweep and the scopes. */
import { expect, test } from 'vitest';
import { existing } from '../../../src/api/crud/existing.ts';
import type { Statement } from '../../../src/api/store/statement.ts';

/** A database that has all it is asked for. */
function everything() {
  const asked: { text: string; ids: unknown }[] = [];
  const query = async ({ text, values: [ids] }: Statement) => {
    asked.push({ text, ids });
    return (Array.isArray(ids) ? ids : []).map((id) => ({ id }));
  };
  return { db: { query }, asked };
}

test('each family is asked once, for all ids that are its own', async () => {
  const { db, asked } = everything();
  const ids = ['ipp_1', 'edghtsrt_1', 'ipp_2', 'esb_1/user_created.v0', 'esb_2', 'esb_1/user_deleted.v0'];
  expect([...(await existing(db, ids))].toSorted()).toEqual(ids.toSorted());
  expect(asked.map(({ ids }) => ids)).toEqual([
    ['ipp_1', 'ipp_2'],
    ['edghtsrt_1'],
    ['esb_1/user_created.v0', 'esb_1/user_deleted.v0'],
    ['esb_2'],
  ]);
  // Of a source there is no row: it is in the list of its subscription.
  expect(asked.map(({ text }) => /(?:from|join) ([a-z_]+ (?:owner|where))/.exec(text)?.[1])).toEqual([
    'ip_policies where',
    'https_edge_routes where',
    'event_subscriptions owner',
    'event_subscriptions where',
  ]);
});

test.each(['none_1', 'ipp', ''])('nobody has "%s"', async (id) => {
  const { db, asked } = everything();
  expect([...(await existing(db, [id]))]).toEqual([]);
  expect(asked).toEqual([]);
});
