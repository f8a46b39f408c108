/** A span per statement and per transaction, with what a statement does to which table: never its text or its values. */
import { type Tracing, traced } from '../../tracing/tracing.ts';
import type { Database, Executor } from './database.ts';
import { type StatementSummary, summaryOf } from './statement-summary.ts';

/** Only what is done for something that has a span: probes and housekeeping ask all the time. */
export function tracedDatabase(db: Database, tracing: Tracing, url: string): Database {
  const where = { 'db.system.name': 'postgresql', ...placeOf(url) };
  /** By text; there are a few for each family. */
  const summaries = new Map<string, StatementSummary>();

  function summarised(text: string): StatementSummary {
    const known = summaries.get(text) ?? summaryOf(text);
    summaries.set(text, known);
    return known;
  }

  const within =
    (executor: Executor): Executor['query'] =>
    (statement) => {
      if (tracing.ids() === undefined) return executor.query(statement);
      const { operation, summary } = summarised(statement.text);
      const attributes = { ...where, 'db.operation.name': operation, 'db.query.summary': summary };
      return traced(tracing, { name: summary, kind: 'client', attributes }, () => executor.query(statement));
    };

  return {
    ...db,
    query: within(db),
    transaction(work) {
      const run = () => db.transaction((tx) => work({ query: within(tx) }));
      if (tracing.ids() === undefined) return run();
      return traced(tracing, { name: 'transaction', kind: 'client', attributes: where }, run);
    },
  };
}

function placeOf(url: string) {
  const parsed = URL.parse(url);
  return {
    'server.address': parsed?.hostname || undefined,
    'server.port': Number(parsed?.port) || 5432,
    'db.namespace': decodeURIComponent(parsed?.pathname.slice(1) ?? '') || undefined,
  };
}
