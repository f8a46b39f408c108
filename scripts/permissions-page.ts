/** The page on who may use which operation: a table for each family, with the differences between callers. */
import { z } from 'zod';
import { CALLERS, type CallerKind, type Permission, type Verdict } from '../dev/conformance/permissions.ts';

type Permissions = Readonly<Record<string, Permission>>;

const HEAD = `# Permissions

Who may use which operation. \`npm test\` tries every operation as every caller; a new operation without a row fails it. This page
is generated from \`dev/conformance/permissions.ts\` by \`npm run generate\`.

- **yes**: with every resource.
- **own**: with the caller's own resources. Those of other owners are 404 and in no list; creating one for another owner is 403.
- **401**, **403**: refused with that status, without a change.

All of it is within the caller's [account](accounts.md); an admin is one of that account. To manage accounts themselves, an admin must be one of
the first account: others get 403.
`;

const documented = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ tags: z.tuple([z.string()]) }))),
});

/** @param document the OpenAPI document: its tags are the headings, in its order */
export function permissionsPage(permissions: Permissions, document: unknown): string {
  const { paths } = documented.parse(document);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { tags }]) => ({ method: method.toUpperCase(), path, tag: tags[0] })),
  );
  const columns = columnsOf(permissions);
  const always = columns.filter(({ verdicts }) => new Set(verdicts).size === 1);
  const varying = columns.filter((column) => !always.includes(column));
  const sections = [...Map.groupBy(operations, ({ tag }) => tag)].map(([tag, members]) => {
    const rows = rowsOf(members, permissions, varying);
    return `\n## ${tag}\n\n${table(['Operation', ...varying.map(({ callers }) => callers.join(', '))], rows)}`;
  });
  const same = always.map(({ callers, verdicts }) => `| ${callers.join(', ')} | ${verdicts[0]} |\n`);
  return `${HEAD}\nThe same for every operation:\n\n| Caller | |\n|---|---|\n${same.join('')}${sections.join('')}`;
}

interface Column {
  readonly callers: readonly CallerKind[];
  /** One for each operation. */
  readonly verdicts: readonly Verdict[];
}

/** Callers with the same permissions everywhere share a column. */
function columnsOf(permissions: Permissions): Column[] {
  const verdictsOf = (caller: CallerKind) => Object.values(permissions).map((verdicts) => verdicts[caller]);
  const alike = Map.groupBy(CALLERS, (caller) => verdictsOf(caller).join());
  return [...alike.values()].map((callers) => ({ callers, verdicts: callers[0] ? verdictsOf(callers[0]) : [] }));
}

/** Methods of a path with the same permissions share a row. */
function rowsOf(
  operations: readonly { method: string; path: string }[],
  permissions: Permissions,
  columns: readonly Column[],
): string[][] {
  const all = operations.map(({ method, path }) => {
    const verdicts = permissions[`${method} ${path}`];
    const cells = columns.map(({ callers }) => String((callers[0] && verdicts?.[callers[0]]) ?? '?'));
    return { method, path, cells };
  });
  return [...Map.groupBy(all, ({ path, cells }) => [path, ...cells].join(' ')).values()].map((alike) => {
    const methods = alike.map(({ method }) => method).join(', ');
    return [`\`${methods} ${alike[0]?.path}\``, ...(alike[0]?.cells ?? [])];
  });
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
