/** The table of all kinds in docs/operator.md. */
import { exampleFile } from '../dev/fixtures/example-file.ts';
import type { AnyPlainKind } from '../src/operator/kinds/plain-kind.ts';

export function kindsTable(kinds: readonly AnyPlainKind[]): string {
  const rows = kinds.map(({ kind, shortNames, description, family }) => {
    const names = shortNames.map((name) => `\`${name}\``).join(', ');
    const key = family.access === 'admin' ? 'of an admin' : 'any';
    return `| \`${kind}\` | ${names} | ${description} | ${key} | [example](../${exampleFile(kind)}) |`;
  });
  return [
    '| Kind | Short name | What it is | API key that the operator needs | |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}
