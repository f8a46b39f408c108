/** The pool of connections to PostgreSQL, statements and transactions: every wait has a timeout, and a transaction is a function. */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type BackoffOptions, backoff } from '../../retry/backoff.ts';
import { beginWithin, PREPARE_ENTER } from './account-scope.ts';
import { isRetryable } from './database-errors.ts';
import { parserOf, type ResultRow, type Statement, StatementRun } from './statement.ts';

export interface DatabaseOptions {
  url: string;
  /** The URL for each new connection, for example with a new password. Default: always `url`. */
  latestUrl?: (() => string) | undefined;
  /** Maximum number of connections. */
  poolSize: number;
  /** Milliseconds that one statement may take on the server. */
  statementTimeoutMs: number;
  /** Milliseconds to wait for a free or new connection. */
  connectTimeoutMs: number;
  /** Called when an idle connection breaks, for example because the server restarts. */
  onError?: (error: Error) => void;
  observer?: DatabaseObserver | undefined;
}

/** Told of every statement, BEGIN and COMMIT included. */
export interface DatabaseObserver {
  /** @param command INSERT, COMMIT and so on; undefined if the statement failed */
  ran(command: string | undefined, seconds: number): void;
  /** A statement failed, or there was no connection for it. */
  failed(error: unknown): void;
}

/** Runs statements: the pool (each in its own transaction) or one transaction. */
export interface Executor {
  query(statement: Statement): Promise<ResultRow[]>;
}

export interface Database extends Executor {
  /**
   * Runs `work` in one transaction (read committed): committed when it returns, rolled back when it throws. Runs it
   * again, up to three times, when Postgres chose it as the victim of a deadlock; so it must do nothing but queries.
   */
  transaction<T>(work: (tx: Executor) => Promise<T>): Promise<T>;
  /** The same database, of which only the rows of one account can be seen and changed. New rows belong to it. */
  within(account: string): Database;
  /** The same database with the rows of all accounts. */
  acrossAccounts(): Database;
  /** Maximum number of connections. */
  readonly poolSize: number;
  /** Connections: open, idle, and requests waiting for one. */
  usage(): { total: number; idle: number; waiting: number };
  close(): Promise<void>;
}

const ATTEMPTS = 3;
/** Before the next attempt, so that the other transaction of a deadlock can take its lock first. */
const PAUSE: BackoffOptions = { firstMs: 40, longestMs: 200 };

/** Opens a pool; connects with the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = openPool(options);
  const { observer } = options;

  function connect(): Promise<pg.PoolClient> {
    return pool.connect().catch((error: unknown) => {
      observer?.failed(error);
      throw error;
    });
  }

  function run(client: pg.PoolClient, statement: Statement, account?: string): Promise<Result> {
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      client.query(new StatementRun(statement, account), (error: Error | null, result) => {
        observer?.ran(error ? undefined : result.command, (performance.now() - startedAt) / 1000);
        if (error) observer?.failed(error);
        // The stack of a server error does not show which statement caused it.
        if (error) reject(Object.assign(error, { statement: statement.name ?? statement.text }));
        else resolve({ command: result.command, rows: result.rows });
      });
    });
  }

  async function query(statement: Statement, account?: string): Promise<ResultRow[]> {
    const client = await connect();
    let broken: Error | undefined;
    try {
      return (await run(client, statement, account)).rows;
    } catch (error) {
      broken = brokenBy(error);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async function attempt<T>(work: (tx: Executor) => Promise<T>, account?: string): Promise<T> {
    const client = await connect();
    let broken: Error | undefined;
    const execute = async (statement: Statement): Promise<Result> => {
      try {
        return await run(client, statement);
      } catch (error) {
        broken ??= brokenBy(error);
        throw error;
      }
    };
    try {
      // Sending BEGIN together with the first statement (pipelined) would save a round trip. But if BEGIN alone failed,
      // as it can in a database that was frozen, that statement would be a transaction of its own.
      await execute(account === undefined ? BEGIN : { text: beginWithin(account), values: [] });
      const result = await work({ query: async (statement) => (await execute(statement)).rows });
      const { command } = await execute(COMMIT);
      // Postgres answers COMMIT of a failed transaction with a silent ROLLBACK.
      if (command !== 'COMMIT') throw new Error('a statement failed unnoticed, so the transaction was rolled back');
      return result;
    } catch (error) {
      // On a connection in an unknown state, the rollback would time out as well.
      if (!broken) await execute(ROLLBACK).catch(() => undefined);
      throw error;
    } finally {
      // A broken connection does not return to the pool.
      client.release(broken);
    }
  }

  const database = (account?: string): Database => ({
    query: (statement) => query(statement, account),
    async transaction(work) {
      for (let tries = 1; ; tries++) {
        try {
          return await attempt(work, account);
        } catch (error) {
          if (tries === ATTEMPTS || !isRetryable(error)) throw error;
          await sleep(backoff(tries, PAUSE));
        }
      }
    },
    within: (inside) => database(inside),
    acrossAccounts: () => database(),
    poolSize: options.poolSize,
    usage: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  });
  return database();
}

const BEGIN: Statement = { text: 'begin', values: [] };
const COMMIT: Statement = { text: 'commit', values: [] };
const ROLLBACK: Statement = { text: 'rollback', values: [] };

interface Result {
  /** INSERT, COMMIT and so on. */
  command: string;
  rows: ResultRow[];
}

/** After these errors a connection would keep refusing the statement, while a new connection may accept it. */
const SPOILS = new Set([
  '0A000', // the columns of a prepared statement have changed
  '25006', // read-only: the primary has become a standby
  '26000', // the server has forgotten a prepared statement
]);

/** Undefined if the server has refused the statement and the connection is still usable; otherwise the error. */
function brokenBy(error: unknown): Error | undefined {
  // A server that speaks another language translates severities, so every error costs its connection.
  const isRefusal = error instanceof pg.DatabaseError && error.severity === 'ERROR';
  if (isRefusal && !SPOILS.has(error.code ?? '')) return undefined;
  return error instanceof Error ? error : new Error(String(error));
}

/** Connects when the first connection is taken. */
function openPool(options: DatabaseOptions): pg.Pool {
  const { url, latestUrl = () => url, poolSize, statementTimeoutMs, connectTimeoutMs, onError } = options;
  class Client extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: latestUrl() });
    }
  }
  const pool = new pg.Pool({
    Client,
    max: poolSize,
    types: { getTypeParser: parserOf },
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    statement_timeout: statementTimeoutMs,
    // The server itself ends a slow statement; this is for a server that does not answer at all.
    query_timeout: statementTimeoutMs + 5_000,
    lock_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs * 2,
    application_name: 'tunnel-operator',
    options: '-c TimeZone=UTC -c DateStyle=ISO',
  });
  pool.on('error', (error) => onError?.(error));
  // The pool listens only to idle connections. Without a listener, one that breaks between two statements of a
  // transaction, or while the pool is closing, would end the process.
  pool.on('connect', (client) => {
    client.on('error', () => {});
    // If it fails, so does the first statement that needs it, and the connection is dropped.
    client.query(PREPARE_ENTER).catch(() => {});
  });
  return pool;
}
