/** The plan of a statement as the API runs it: prepared, with its parameters. */
import pg from 'pg';
import type { Executor } from '../../src/api/store/database.ts';
import type { Statement } from '../../src/api/store/statement.ts';

type Query = (text: string) => Promise<{ rows: unknown[] }>;

/** The statements that `work` runs; each returns no rows. */
export async function statementsOf(work: (db: Executor) => Promise<unknown>): Promise<[Statement, ...Statement[]]> {
  const asked: Statement[] = [];
  await work({
    async query(statement) {
      asked.push(statement);
      return [];
    },
  });
  const [first, ...others] = asked;
  if (!first) throw new Error('no statement was run');
  return [first, ...others];
}

interface ExplainOptions {
  /** `generic`: for any parameters, which Postgres may keep after a few executions; `custom`: for these. */
  plan: 'generic' | 'custom';
  /** Executes the statement and counts what it reads. */
  analyze?: boolean;
}

/** The lines of the plan. */
export async function explain(query: Query, { text, values }: Statement, options: ExplainOptions): Promise<string[]> {
  const { plan, analyze = false } = options;
  await query(`set plan_cache_mode = force_${plan}_plan`);
  await query(`prepare explained as ${text}`);
  try {
    const how = analyze ? 'analyze, buffers, timing off, summary off, costs off' : 'costs off';
    const given = values.length === 0 ? '' : `(${values.map(literal).join(', ')})`;
    const { rows } = await query(`explain (${how}) execute explained ${given}`);
    return rows.map((row) => String(Object(row)['QUERY PLAN']));
  } finally {
    await query('deallocate explained');
    await query('reset plan_cache_mode');
  }
}

/** Pages of 8 KiB that an analyzed statement accessed. */
export function buffersOf(lines: readonly string[]): number {
  const own = lines.find((line) => line.includes('Buffers:')) ?? '';
  return [...own.matchAll(/(?:hit|read)=(\d+)/g)].reduce((sum, [, pages]) => sum + Number(pages), 0);
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]::text[]`;
  if (value instanceof Date) return literal(value.toISOString());
  return value === null ? 'null' : pg.escapeLiteral(String(value));
}
