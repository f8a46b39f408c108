/** The tables have what the definitions of the families say. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { uniqueColumns, uniqueIndex } from '../../../src/api/crud/uniqueness.ts';
import { REQUEST_ROLE } from '../../../src/api/store/account-scope.ts';
import { ACCOUNT_FAMILIES } from '../../../src/resources/account-families.ts';
import type { Resource } from '../../../src/resources/definition/resource.ts';
import { FAMILIES } from '../../../src/resources/families.ts';
import { startTestApi } from '../harness.ts';

const api = await startTestApi();

const column = z.object({ column_name: z.string(), data_type: z.string() });

const stored = ({ fields }: Resource) => Object.entries(fields).filter(([, { storage }]) => storage !== 'none');

describe.each(FAMILIES.map((family) => [family.table, family] as const))('the table %s', (table, family) => {
  test('has a column for each field, jsonb where the field is an object', async () => {
    const text = 'select column_name, data_type from information_schema.columns where table_name = $1';
    const columns = new Map(
      z
        .array(column)
        .parse(await api.rows(text, [table]))
        .map((each) => [each.column_name, each.data_type]),
    );
    const common = ['id', 'created_at', 'updated_at', 'revision'];
    const wanted = [...common, ...stored(family).map(([name]) => name)];
    expect(wanted.filter((name) => !columns.has(name))).toEqual([]);
    const jsonb = stored(family).filter(([, { storage }]) => storage === 'jsonb');
    expect(jsonb.filter(([name]) => columns.get(name) !== 'jsonb').map(([name]) => name)).toEqual([]);
  });
});

test.each(ACCOUNT_FAMILIES.map(({ table }) => table))(
  'requests see only the rows of their account in the table %s',
  async (table) => {
    const text = `
      select relrowsecurity as enabled, pg_get_expr(polqual, polrelid) as condition, polroles::regrole[]::text[] as roles
        from pg_class c join pg_policy p on p.polrelid = c.oid where c.oid = to_regclass($1)`;
    expect(await api.rows(text, [table])).toEqual([
      {
        enabled: true,
        condition: expect.stringMatching(/^COALESCE\(\(account_id = .*, false\)$/),
        roles: [REQUEST_ROLE],
      },
    ]);
  },
);

test.each(ACCOUNT_FAMILIES.map(({ table }) => table))(
  'rows of the table %s are counted for the quota of their account, by an index',
  async (table) => {
    const trigger = `
      select tgfoid::regproc::text as function from pg_trigger where tgrelid = to_regclass($1) and tgname = 'account'`;
    expect(await api.rows(trigger, [table])).toEqual([{ function: 'check_account' }]);
    const index = "select pg_get_indexdef(to_regclass($1 || '_by_account')) as index";
    expect(await api.rows(index, [table])).toEqual([{ index: expect.stringMatching(/\(account_id, id\)$/) }]);
  },
);

const unique = FAMILIES.flatMap((family) =>
  Object.entries(family.fields).flatMap(([name, field]) =>
    field.unique === undefined ? [] : [{ family, name, rule: field.unique, index: uniqueIndex(family, name) }],
  ),
);

test.each(unique)('the unique index $index exists, named after its table and field', async (found) => {
  const { name, rule, index } = found;
  const text = 'select pg_get_indexdef(indexrelid) as definition from pg_index where indexrelid = to_regclass($1)';
  const [row] = await api.rows(text, [index]);
  const definition = String(row?.definition ?? `there is no index ${index}`);
  expect(definition).toMatch(/^CREATE UNIQUE INDEX/);
  const columns = /\(([^)]*)\)$/.exec(definition)?.[1]?.split(', ') ?? [];
  expect(columns.toSorted()).toEqual(uniqueColumns(name, rule).toSorted());
});
