/** The connection pool: every wait has an end, and a transaction is a function. */
import pg from 'pg';
import { mustRetry } from './trouble.ts';

export interface DatabaseOptions {
  url: string;
  /** Most connections at once. */
  poolSize: number;
  /** Milliseconds that one statement may take on the server. */
  statementTimeoutMs: number;
  /** Milliseconds to wait for a free or new connection. */
  connectTimeoutMs: number;
  /** Called with what happens to idle connections (a restart of the server, for one). */
  onError?: (error: Error) => void;
}

/** A statement that is prepared once per connection under its name. */
export interface Statement {
  name?: string;
  text: string;
  values: unknown[];
}

/** What runs statements: the pool (each is a transaction of its own) or a transaction. */
export interface Executor {
  query(statement: Statement): Promise<Record<string, unknown>[]>;
}

export interface Database extends Executor {
  /**
   * Runs `work` in one transaction (read committed): committed when it returns, rolled back when it throws. Runs it
   * again, up to three times, when Postgres chose it as the victim of a deadlock; so it must do nothing but queries.
   */
  transaction<T>(work: (tx: Executor) => Promise<T>): Promise<T>;
  /** Connections: open, idle, and requests waiting for one. */
  usage(): { total: number; idle: number; waiting: number };
  close(): Promise<void>;
}

const ATTEMPTS = 3;

/** Opens a pool; connects with the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: options.connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    statement_timeout: options.statementTimeoutMs,
    lock_timeout: options.statementTimeoutMs,
    idle_in_transaction_session_timeout: options.statementTimeoutMs * 2,
    // The server ends a slow statement itself; this one is for a server that no longer answers at all.
    query_timeout: options.statementTimeoutMs + 5_000,
    application_name: 'tunnel-operator',
    options: '-c TimeZone=UTC -c DateStyle=ISO',
    types: { getTypeParser },
  });
  pool.on('error', (error) => options.onError?.(error));
  // While the pool ends, its connections have no listener of its own: one that the server cuts then would end the process.
  pool.on('connect', (client) => void client.on('error', () => {}));

  const run = async (target: pg.Pool | pg.PoolClient, statement: Statement) => {
    const result = await target.query<Record<string, unknown>>(statement);
    return result.rows;
  };

  async function attempt<T>(work: (tx: Executor) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    let broken: Error | undefined;
    const onError = (error: Error) => {
      broken ??= error;
    };
    // Without a listener, a connection cut between two statements would end the process.
    client.on('error', onError);
    // Without an answer of the server the connection is in an unknown state, and a rollback would wait as long again.
    const answered = <R>(answer: Promise<R>) =>
      answer.catch((error: Error) => {
        if (!(error instanceof pg.DatabaseError)) onError(error);
        throw error;
      });
    try {
      // Not sent together with the first statement (pipelined), which would save a round trip: if BEGIN alone failed, as
      // it can in a database that was frozen, that statement would be a transaction of its own.
      await answered(client.query('begin'));
      const result = await work({ query: (statement) => answered(run(client, statement)) });
      const { command } = await answered(client.query('commit'));
      // Postgres answers COMMIT of a failed transaction with a silent ROLLBACK.
      if (command !== 'COMMIT') throw new Error('a statement failed unnoticed, so the transaction was rolled back');
      return result;
    } catch (error) {
      if (!broken) await client.query('rollback').catch(onError);
      throw error;
    } finally {
      client.off('error', onError);
      // One that is broken does not go back to the pool.
      client.release(broken);
    }
  }

  return {
    query: (statement) => run(pool, statement),
    async transaction(work) {
      for (let tries = 1; ; tries++) {
        try {
          return await attempt(work);
        } catch (error) {
          if (tries === ATTEMPTS || !mustRetry(error)) throw error;
        }
      }
    },
    usage: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  };
}

const { builtins } = pg.types;

/** Timestamps as the API shows them, and counters as numbers (ours stay far below 2^53). */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  if (oid === builtins.TIMESTAMPTZ) return rfc3339;
  if (oid === builtins.INT8) return Number;
  return pg.types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text');
}

/** `2026-11-21 10:40:00.9+00` as the API shows it. By hand, since of a list of 100 a Date for each is the larger part. */
function rfc3339(text: string): string {
  if (text.length < 22 || text.length > 29 || !text.endsWith('+00')) return new Date(text).toISOString();
  const milliseconds = text.length === 22 ? '000' : text.slice(20, -3).padEnd(3, '0').slice(0, 3);
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`;
}
