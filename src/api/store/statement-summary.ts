/** What a statement does to which tables, as OpenTelemetry's `db.query.summary`: `INSERT events INSERT ip_policies`. */

export interface StatementSummary {
  /** Of the statement as a whole: SELECT, INSERT and so on. */
  operation: string;
  summary: string;
}

/**
 * A table after the word that says what is done to it, but for `for update of`, `do update set` and `distinct from`; what
 * is read from may also be a function.
 */
const TARGET =
  /(?<!\b(?:for|do|distinct)\s+)\b(?:(insert\s+into|update|delete\s+from)\s+([a-z_]+)|(?:from|join)\s+([a-z_]+)\b(?!\s*\())/gi;
/** The name of a part of the statement (CTE). */
const PART = /\b([a-z_]+)\s+as\s+(?:(?:not\s+)?materialized\s+)?\(/gi;

export function summaryOf(text: string): StatementSummary {
  const parts = new Set([...text.matchAll(PART)].map(([, name]) => name));
  const targets = [...text.matchAll(TARGET)]
    .filter(([, , , read]) => !parts.has(read))
    .map(([, how = 'select', written, read]) => `${how.split(/\s/, 1)[0]?.toUpperCase()} ${written ?? read}`);
  const operation =
    outermost(text)
      .match(/\b(?:select|insert|update|delete)\b/i)?.[0]
      .toUpperCase() ?? 'OTHER';
  return { operation, summary: [...new Set(targets)].join(' ') || operation };
}

/** Without anything in parentheses. */
function outermost(text: string): string {
  const without = text.replaceAll(/\([^()]*\)/g, ' ');
  return without === text ? text : outermost(without);
}
