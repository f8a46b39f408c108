/** The table of all kinds in docs/operator.md. */
import { exampleFile } from '../dev/fixtures/example-file.ts';
import type { AnyPlainKind } from '../src/operator/kinds/plain-kind.ts';

export function kindsTable(kinds: readonly AnyPlainKind[]): string {
  const rows = kinds.map(({ kind, shortNames, description, family }) => {
    const names = shortNames.map((name) => `\`${name}\``).join(', ');
    const key = family.access === 'admin' ? 'an admin key' : 'any';
    return `| \`${kind}\` | ${names} | ${description} | ${key} | [example](../${exampleFile(kind)}) |`;
  });
  return [
    '| Kind | Short name | Description | API key that the operator needs | |',
    '|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}
