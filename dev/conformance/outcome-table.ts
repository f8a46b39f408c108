/** What became of each rule, to be read on a terminal. */
import type { Row, Section } from './row.ts';

export function table(sections: readonly Section[], outcome: (row: Row) => string): string {
  return sections
    .map(({ title, rows }) => `${title}\n${rows.map((row) => `  ${outcome(row).padEnd(4)} ${row.rule}\n`).join('')}`)
    .join('\n');
}
