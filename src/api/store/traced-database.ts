/** A span per statement and per transaction, with the name of the statement: never its text or its values. */
import { type Tracing, traced } from '../../tracing/tracing.ts';
import type { Database, Executor } from './database.ts';

/** Traces only statements below a span: probes and housekeeping, which query all the time, have none. */
export function tracedDatabase(db: Database, tracing: Tracing, url: string): Database {
  const where = { 'db.system.name': 'postgresql', ...placeOf(url) };
  const within =
    (executor: Executor): Executor['query'] =>
    (statement) => {
      if (tracing.ids() === undefined) return executor.query(statement);
      const name = statement.name ?? firstWordOf(statement.text);
      const attributes = { ...where, 'db.query.summary': name };
      return traced(tracing, { name, kind: 'client', attributes }, () => executor.query(statement));
    };

  return {
    ...db,
    within: (account) => tracedDatabase(db.within(account), tracing, url),
    acrossAccounts: () => tracedDatabase(db.acrossAccounts(), tracing, url),
    query: within(db),
    transaction(work) {
      const run = () => db.transaction((tx) => work({ query: within(tx) }));
      if (tracing.ids() === undefined) return run();
      return traced(tracing, { name: 'transaction', kind: 'client', attributes: where }, run);
    },
  };
}

/** SELECT, UPDATE and so on. */
const firstWordOf = (text: string) => /\w+/.exec(text)?.[0].toUpperCase() ?? 'OTHER';

function placeOf(url: string) {
  const parsed = URL.parse(url);
  return {
    'server.address': parsed?.hostname || undefined,
    'server.port': Number(parsed?.port) || 5432,
    'db.namespace': decodeURIComponent(parsed?.pathname.slice(1) ?? '') || undefined,
  };
}
