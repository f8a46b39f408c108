/** The page on who may use which operation: a table for each family, with the differences between callers. */
import { z } from 'zod';
import { CALLERS, type CallerKind, type Permission, type Verdict } from '../dev/conformance/permissions.ts';

type Permissions = Readonly<Record<string, Permission>>;

const HEAD = `# Permissions

Who may use which operation. \`npm test\` tries every operation as every caller; a new operation without a row fails it. This page
is generated from \`dev/conformance/permissions.ts\` by \`npm run generate\`.

- **yes**: with every resource.
- **own**: with the caller's own resources. Those of other owners are 404 and in no list; creating one for another owner is 403.
- **GET**: as an editor, but by this method only; all others are 403.
- **401**, **403**: refused with that status, without a change.

A user or bot is an editor unless it has another [role](api/authentication.md#roles). A viewer sees no secrets. An API key with
[scopes](api/authentication.md#scopes) may do less than its owner: what it lacks the scope for is 403.

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

/** Methods of a path with the same permissions for the callers of the first column share a row. */
function rowsOf(
  operations: readonly { method: string; path: string }[],
  permissions: Permissions,
  columns: readonly Column[],
): string[][] {
  const all = operations.map(({ method, path }) => {
    const verdicts = permissions[`${method} ${path}`];
    const cells = columns.map(({ callers }) => (callers[0] && verdicts?.[callers[0]]) ?? 403);
    return { method, path, cells };
  });
  return [...Map.groupBy(all, ({ path, cells }) => `${path} ${cells[0]}`).values()].map((alike) => {
    const methods = alike.map(({ method }) => method).join(', ');
    const cellOf = (_: unknown, column: number) =>
      merged(alike.map(({ method, cells }) => ({ method, verdict: cells[column] ?? 403 })));
    return [`\`${methods} ${alike[0]?.path}\``, ...columns.map(cellOf)];
  });
}

/** One verdict for several methods: that of all, or the methods that are not refused. */
function merged(cells: readonly { method: string; verdict: Verdict }[]): string {
  const verdicts = new Set(cells.map(({ verdict }) => verdict));
  if (verdicts.size === 1) return [...verdicts].join();
  const permitted = cells.filter(({ verdict }) => typeof verdict === 'string');
  return permitted.map(({ method }) => method).join(', ');
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
