/**
 * The servers of one connection URL, and which of them is used. After a failover another one takes the writes, and the
 * program has to find it by itself.
 */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import { readConnectionUrl, type Server, type Wanted } from './connection-url.ts';

/** Asked of each new connection. */
export const WHAT_IT_IS = {
  text: `select current_setting('transaction_read_only') = 'on' as read_only, pg_is_in_recovery() as standby`,
  values: [],
};

const answer = z.object({ read_only: z.boolean(), standby: z.boolean() });

/** How long a server may take before the next one is tried beside it. */
const HEAD_START_MS = 500;

const TOO_MANY_CONNECTIONS = '53300';

export interface ServersOptions {
  /** Milliseconds for a connection to each server. */
  connectTimeoutMs: number;
  /** Called when another server is used than before. */
  onMove?: (now: Server, before: Server) => void;
}

export class Servers {
  readonly #all: readonly Server[];
  readonly #wanted: Wanted;
  readonly #options: ServersOptions;
  /** Not with a single one that may be anything. */
  readonly hasChoice: boolean;
  #current: Server;
  #isTrusted: boolean;
  #search: Promise<void> | undefined;

  /** @throws BadConnectionUrl */
  constructor(url: string, options: ServersOptions) {
    const { servers, wanted } = readConnectionUrl(url);
    const [first] = servers;
    if (!first) throw new Error('a connection URL has at least one host');
    this.#all = servers;
    this.#wanted = wanted;
    this.#options = options;
    this.hasChoice = this.#all.length > 1 || wanted !== 'any';
    this.#current = first;
    this.#isTrusted = !this.hasChoice;
  }

  /** The one that new connections go to. */
  get current(): Server {
    return this.#current;
  }

  /** Whether it was what is wanted, and nothing has happened since. */
  get isTrusted(): boolean {
    return this.#isTrusted;
  }

  /** To be called when a connection has broken, or could not be opened. */
  doubt(): void {
    if (this.hasChoice) this.#isTrusted = false;
  }

  /**
   * Finds the server that is what is wanted: the current one if it still is, else the first that answers. Whoever asks
   * while others do shares their search.
   * @throws AggregateError with the reason of each server
   */
  find(): Promise<void> {
    this.#search ??= this.#find().finally(() => {
      this.#search = undefined;
    });
    return this.#search;
  }

  /** Why a server is not what is wanted, by the row of `WHAT_IT_IS`; undefined if it is. */
  objection(row: unknown): Error | undefined {
    const { read_only, standby } = answer.parse(row);
    if (this.#wanted === 'primary' && standby) return new NotWanted('it is a standby');
    if (this.#wanted === 'read-write' && read_only)
      return new NotWanted(`it is ${standby ? 'a standby' : 'read-only'}`);
    return undefined;
  }

  /** In turn: one that refuses gives way to the next at once, one that hangs after its head start. */
  async #find(): Promise<void> {
    const before = this.#current;
    const order = [before, ...this.#all.filter((server) => server !== before)];
    const found = new AbortController();
    let turn: Promise<unknown> = Promise.resolve();
    const attempts = order.map((server) => {
      const attempt = turn.then(async () => {
        found.signal.throwIfAborted();
        await this.#check(server);
        found.abort();
        return server;
      });
      const headStart = () => Promise.race([attempt, delay(HEAD_START_MS, undefined, { signal: found.signal })]);
      turn = turn.then(headStart).catch(() => {});
      return attempt;
    });
    try {
      this.#current = await Promise.any(attempts);
      this.#isTrusted = true;
    } catch (error) {
      throw error instanceof AggregateError ? noServer(order, error.errors, this.#wanted) : error;
    }
    if (this.#current !== before) this.#options.onMove?.(this.#current, before);
  }

  async #check(server: Server): Promise<void> {
    const { connectTimeoutMs } = this.#options;
    const client = new pg.Client({
      connectionString: server.url,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: connectTimeoutMs,
      application_name: 'tunnel-operator',
    });
    // One that breaks afterwards would end the process.
    client.on('error', () => {});
    try {
      await client.connect();
      if (this.#wanted !== 'any') {
        const objection = this.objection((await client.query(WHAT_IT_IS)).rows[0]);
        if (objection) throw objection;
      }
    } catch (error) {
      // It serves the connections that there are. A new one is asked again what it is.
      const isFull = error instanceof pg.DatabaseError && error.code === TOO_MANY_CONNECTIONS;
      if (!isFull || server !== this.#current) throw error;
    } finally {
      // Not awaited: a server that hangs does not answer this either.
      client.end().catch(() => {});
    }
  }
}

/** A standby when a primary is wanted: with the code that a statement which writes would get there. */
class NotWanted extends Error {
  override readonly name = 'NotWanted';
  readonly code = '25006';
}

function noServer(order: readonly Server[], errors: readonly unknown[], wanted: Wanted): AggregateError {
  const reasons = order.map(({ name }, index) => {
    const error = errors[index];
    return `${name}: ${messageOf(error)}`;
  });
  const what = wanted === 'any' ? 'answers' : `is ${wanted}`;
  return new AggregateError(errors, `no server ${what} (${reasons.join('; ')})`);
}
