/** A statement as pg runs it, and how the values that it returns are read. */
import pg from 'pg';
import { ENTER_STATEMENT } from './account-scope.ts';

/** A statement that is prepared once per connection under its name. */
export interface Statement {
  name?: string;
  text: string;
  values: unknown[];
  /**
   * Whether to keep a row of this many bytes; called for each row in turn. Other rows are dropped as they arrive, so
   * that a large result is never in memory as a whole.
   */
  keeps?: (bytes: number) => boolean;
}

export type ResultRow = Record<string, unknown>;

/** A row as the server sends it. */
interface DataRow {
  /** Bytes. */
  length: number;
  fields: (string | null)[];
}

declare module 'pg' {
  interface Query {
    /** Called by pg for each row. */
    handleDataRow(message: DataRow): void;
    /** Called by pg at the end of each statement. */
    handleCommandComplete(message: unknown, connection: pg.Connection): void;
  }
}

/** A statement as it is given to pg. */
export class StatementRun extends pg.Query {
  declare readonly text: string;
  declare name: string;
  declare queryMode: string;
  readonly #keeps: Statement['keeps'];
  #isEntering = false;

  /** @param account whose rows it may see and change; default: all rows */
  constructor({ name, text, values, keeps }: Statement, account?: string) {
    // Not as one object, which pg would copy at some cost.
    super(text, values);
    if (name !== undefined) this.name = name;
    this.#keeps = keeps;
    if (account === undefined) return;
    // A simple query would not end the transaction that the setting begins.
    this.queryMode = 'extended';
    const submit = this.submit;
    // Both statements before one Sync, so they are one transaction and one round trip.
    this.submit = (connection) => {
      connection.stream.cork();
      try {
        this.#isEntering = true;
        connection.bind({ statement: ENTER_STATEMENT, values: [account] }, true);
        connection.execute(null, true);
        return submit.call(this, connection);
      } finally {
        connection.stream.uncork();
      }
    };
  }

  override handleDataRow(message: DataRow): void {
    if (this.#keeps?.(message.length) !== false) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: pg.Connection): void {
    if (this.#isEntering) this.#isEntering = false;
    else super.handleCommandComplete(message, connection);
  }
}

const { builtins } = pg.types;

/** Timestamps as the API shows them, and counters as numbers (ours stay far below 2^53). */
export function parserOf(oid: number): (text: string) => unknown {
  if (oid === builtins.TIMESTAMPTZ) return rfc3339;
  if (oid === builtins.INT8) return Number;
  return pg.types.getTypeParser(oid, 'text');
}

/**
 * `2026-11-21 10:40:00.9+00` as the API shows it. By hand: in a list of 100, making a Date for each would take most of
 * the time.
 */
function rfc3339(text: string): string {
  if (text.length < 22 || text.length > 29 || !text.endsWith('+00')) return new Date(text).toISOString();
  const milliseconds = text.length === 22 ? '000' : text.slice(20, -3).padEnd(3, '0').slice(0, 3);
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${milliseconds}Z`;
}
