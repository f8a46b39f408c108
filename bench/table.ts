/** Tables of a report, in Markdown. */

/** The head of a table with text in the first column and numbers in the others. */
export function tableHead(columns: readonly string[]): string {
  return [tableRow(columns), tableRow(columns.map((_, index) => (index === 0 ? '---' : '--:')))].join('\n');
}

export function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
