/** Records what an operation does to the database while it runs. */
import type { Database, Executor } from '../../src/api/store/database.ts';
import type { Statement } from '../../src/api/store/statement.ts';

/** One round trip. */
export type Step =
  | { kind: 'begin' | 'commit' }
  | { kind: 'statement'; statement: Statement; rows: Record<string, unknown>[] };

export interface Recording {
  /** The database, which records everything that goes through it. */
  db: Database;
  /** What was recorded since the last call. */
  taken(): Step[];
}

export function recording(db: Database): Recording {
  let steps: Step[] = [];
  const recorded = (executor: Executor): Executor => ({
    async query(statement) {
      const rows = await executor.query(statement);
      steps.push({ kind: 'statement', statement, rows });
      return rows;
    },
  });
  return {
    db: {
      ...db,
      ...recorded(db),
      transaction: (work) =>
        db.transaction(async (tx) => {
          steps.push({ kind: 'begin' });
          const result = await work(recorded(tx));
          steps.push({ kind: 'commit' });
          return result;
        }),
    },
    taken() {
      const taken = steps;
      steps = [];
      return taken;
    },
  };
}
