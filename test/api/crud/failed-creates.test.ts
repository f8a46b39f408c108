/** Creates that the database refuses for an unforeseen reason, here a trigger. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { startTestApi } from '../harness.ts';

const { admin, rows } = await startTestApi();
const withId = z.looseObject({ id: z.string() });

await rows(`create function refuse() returns trigger language plpgsql as $$ begin
  raise exception 'refused by the test' using errcode = tg_argv[0], constraint = 'unforeseen';
end $$`);

/** Makes every insert into the table fail. */
const refuse = (table: string, code: string) =>
  rows(`create trigger refuse before insert on ${table} for each row execute function refuse('${code}')`);

test('a failed create leaves nothing behind', async () => {
  await refuse('endpoint_configurations', 'P0001');
  const { id } = (await admin.post('/ip_policies', {})).as(withId);
  const made = await admin.post('/endpoint_configurations', { type: 'http', ip_policy_ids: [id] });
  expect(made.status).toBe(500);
  expect(await rows('select * from resource_references')).toEqual([]);
});

test.each([
  ['unique', '23505', 'reserved_domains', { domain: 'd.example.com' }],
  ['missing', '23503', 'ip_policies', {}],
])('the violation of an unforeseen constraint is a conflict that names it: %s', async (_, code, table, body) => {
  await refuse(table, code);
  const { error } = await admin.post(`/${table}`, body);
  expect(error).toMatchObject({ error_code: 'CONFLICT', details: { rule: 'unforeseen' } });
});
