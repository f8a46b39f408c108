/** Tables of a report, in Markdown. */

/** The head of a table whose first column is text and whose others are numbers. */
export function tableHead(columns: readonly string[]): string {
  return [tableRow(columns), tableRow(columns.map((_, index) => (index === 0 ? '---' : '--:')))].join('\n');
}

export function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
