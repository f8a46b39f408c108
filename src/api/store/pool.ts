/** The pool of connections to PostgreSQL. */
import pg from 'pg';

export interface PoolOptions {
  url: string;
  /** Maximum number of connections. */
  poolSize: number;
  /** Milliseconds that one statement may take on the server. */
  statementTimeoutMs: number;
  /** Milliseconds to wait for a free or new connection. */
  connectTimeoutMs: number;
  /** Called when an idle connection breaks, for example because the server restarts. */
  onError?: (error: Error) => void;
}

/** Connects when the first connection is taken. */
export function openPool({ url, poolSize, statementTimeoutMs, connectTimeoutMs, onError }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
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
  pool.on('connect', (client) => void client.on('error', () => {}));
  return pool;
}
