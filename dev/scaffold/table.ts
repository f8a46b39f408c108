/** The table of a family as SQL, from its definition. */
import { z } from 'zod';
import { uniqueColumns, uniqueIndex } from '../../src/api/crud/uniqueness.ts';
import { CURRENT_ACCOUNT, IS_OTHER_ACCOUNT, POLICY, REQUEST_ROLE } from '../../src/api/store/account-scope.ts';
import { startColumn } from '../../src/api/store/page-statement.ts';
import { sealedColumn } from '../../src/api/store/repository.ts';
import { MAX_PREFIX } from '../../src/resources/definition/filter.ts';
import type { Field, Resource } from '../../src/resources/definition/resource.ts';

const json = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  format: z.string().optional(),
  anyOf: z.array(z.record(z.string(), z.unknown())).optional(),
});

/** A migration that creates it. Add constraints that the definition does not express by hand. */
export function createTable(family: Resource): string {
  const stored = Object.entries(family.fields).filter(([, { storage }]) => storage !== 'none');
  const columns: [string, string][] = [
    ['id', 'text collate "C" primary key'],
    ...stored.flatMap(([name, field]): [string, string][] => [
      [name, columnType(field)],
      ...(field.shorten ? [[sealedColumn(name), 'text'] satisfies [string, string]] : []),
      ...(field.filterable === 'prefix' ? [[startColumn(name), startOf(name)] satisfies [string, string]] : []),
    ]),
    ['created_at', 'timestamptz not null'],
    ['updated_at', 'timestamptz not null'],
    ['revision', 'bigint not null default 1'],
    ['account_id', `text collate "C" not null default ${CURRENT_ACCOUNT}`],
  ];
  const width = Math.max(...columns.map(([name]) => name.length));
  const constraints = stored.flatMap(([name, { unique }]) =>
    unique === undefined
      ? []
      : [`constraint ${uniqueIndex(family, name)} unique (${uniqueColumns(name, unique).join(', ')})`],
  );
  const lines = [...columns.map(([name, type]) => `${name.padEnd(width)} ${type}`), ...constraints];
  const table = `create table ${family.table} (\n${lines.map((line) => `  ${line}`).join(',\n')}\n);\n`;
  const list = `create index ${family.table}_by_account on ${family.table} (account_id, id);\n`;
  const indexes = [list, ...stored.flatMap(([name, field]) => indexOf(family, name, field))];
  return [table, ...indexes, policy(family)].join('\n');
}

/** Requests see only the rows of their account, and create none beyond its quota. */
const policy = ({ table }: Resource) =>
  `alter table ${table} enable row level security;
create policy account on ${table} to ${REQUEST_ROLE} using (${POLICY});
create trigger account after insert on ${table} for each statement
  when (${IS_OTHER_ACCOUNT}) execute function check_account();
`;

/** The index of a filter, which the unique index of a field makes unnecessary. */
function indexOf({ table }: Resource, name: string, { filterable, unique }: Field): string[] {
  const index = `create index ${table}_by_account_and_${name} on ${table}`;
  if (filterable === 'prefix') return [`${index} (account_id, ${startColumn(name)}, id) where ${name} is not null;\n`];
  return filterable === 'value' && unique !== true ? [`${index} (account_id, ${name}, id);\n`] : [];
}

const startOf = (name: string) => `text collate "C" generated always as (left(${name}, ${MAX_PREFIX})) stored`;

function columnType({ view, storage, as, refersTo, unique, filterable, initial, onCreate }: Field): string {
  const schema = json.parse(z.toJSONSchema(view, { io: 'output', unrepresentable: 'any' }));
  const isNullable = view instanceof z.ZodNullable || (initial === null && onCreate === 'optional');
  const end = isNullable ? '' : ' not null';
  if (storage === 'jsonb') return `jsonb${end}`;
  if (refersTo || as) return `${schema.type === 'array' ? 'text[]' : 'text collate "C"'}${end}`;
  const [inner = schema] = (schema.anyOf ?? []).map((each) => json.parse(each));
  const type = typeof inner.type === 'string' ? inner.type : inner.type?.find((each) => each !== 'null');
  // Compared byte by byte, as the API compares.
  if (type === 'string' && inner.format === undefined)
    return `${unique || filterable === 'value' ? 'text collate "C"' : 'text'}${end}`;
  if (type === 'string') return `${inner.format === 'date-time' ? 'timestamptz' : 'text'}${end}`;
  return `${TYPES[type ?? ''] ?? 'jsonb'}${end}`;
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'text[]',
  boolean: 'boolean',
  integer: 'bigint',
  number: 'double precision',
};
