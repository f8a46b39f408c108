/** The pool of connections, all of them to the server that is the right one at the time. */
import pg from 'pg';
import { POOL_EXHAUSTED, transientCondition } from './database-errors.ts';
import { Servers, type ServersOptions, WHAT_IT_IS } from './servers.ts';
import type { ResultRow, Statement } from './statement.ts';

export interface ConnectionOptions {
  url: string;
  /** Most connections at once. */
  poolSize: number;
  /** Milliseconds that one statement may take on the server. */
  statementTimeoutMs: number;
  /** Milliseconds to wait for a free or new connection. */
  connectTimeoutMs: number;
  /** Called with what happens to idle connections (a restart of the server, for one). */
  onError?: (error: Error) => void;
  /** Called when the pool turns to another server, as after a failover. */
  onMove?: ServersOptions['onMove'];
}

/** Receives a connection, or why there is none. */
export type Taker = (client: pg.PoolClient | undefined, error?: Error) => void;

export interface Connections {
  take(taker: Taker): void;
  /** @param broken why it must not be used again, if so */
  giveBack(client: pg.PoolClient, broken: Error | undefined): void;
  /** Connections: open, idle, and requests waiting for one. */
  usage(): { total: number; idle: number; waiting: number };
  close(): Promise<void>;
}

/** Runs a statement on a new connection. */
type Ask = (
  client: pg.PoolClient,
  statement: Statement,
  outcome: { resolve(result: { rows: ResultRow[] }): void; reject(error: Error): void },
) => void;

/** Opens a pool; connects when the first connection is taken. */
export function openConnections(options: ConnectionOptions, ask: Ask): Connections {
  const { connectTimeoutMs, statementTimeoutMs } = options;
  const open = new Set<Connection>();
  const servers = new Servers(options.url, {
    connectTimeoutMs,
    onMove(now, before) {
      options.onMove?.(now, before);
      // Statements may hang on them for as long as they may take at all. Whoever waits for one is told at once.
      for (const connection of open) if (connection.server !== now) void connection.end();
    },
  });

  class Connection extends pg.Client {
    readonly server = servers.current;

    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: servers.current.url });
      open.add(this);
      this.once('end', () => open.delete(this));
    }
  }

  function verify(client: pg.PoolClient, done: (error?: Error) => void): void {
    ask(client, WHAT_IT_IS, { resolve: ({ rows }) => done(servers.objection(rows[0])), reject: done });
  }

  const pool = new pg.Pool({
    Client: Connection,
    max: options.poolSize,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    statement_timeout: statementTimeoutMs,
    lock_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs * 2,
    application_name: 'tunnel-operator',
    options: '-c TimeZone=UTC -c DateStyle=ISO',
    // It may have become a standby since the last one.
    ...(servers.hasChoice ? { verify } : {}),
  });
  pool.on('error', (error) => {
    servers.doubt();
    options.onError?.(error);
  });
  // One that the server cuts between two statements, or while the pool ends, would end the process: the pool itself listens
  // only to those that nobody uses.
  pool.on('connect', (client) => void client.on('error', () => {}));

  function take(taker: Taker, isRepeated = false): void {
    if (servers.isTrusted) takeFromPool(taker, isRepeated);
    else {
      const found = servers.find().then(() => takeFromPool(taker, isRepeated));
      found.catch((error: Error) => taker(undefined, error));
    }
  }

  function takeFromPool(taker: Taker, isRepeated: boolean): void {
    pool.connect((error, client) => {
      if (!client) {
        servers.doubt();
        // Once: a server that has just been found to be fine refuses for another reason.
        const isElsewhere = servers.hasChoice && !isRepeated && transientCondition(error) !== POOL_EXHAUSTED;
        if (isElsewhere) take(taker, true);
        else taker(undefined, error);
      } else if (client instanceof Connection && client.server !== servers.current) {
        // Left from before a failover.
        client.release(true);
        take(taker, isRepeated);
      } else taker(client);
    });
  }

  return {
    take: (taker) => take(taker),
    giveBack(client, broken) {
      if (broken) servers.doubt();
      client.release(broken);
    },
    usage: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  };
}
