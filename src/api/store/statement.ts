/** A statement as pg runs it, and how the rows that it returns are read. */
import pg from 'pg';

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

/** The part of pg's description of a column that is used here. */
type Column = Pick<pg.FieldDef, 'name' | 'dataTypeID'>;

/** How the rows of a statement become objects. */
interface Shape {
  columns: readonly Column[];
  parsers: readonly ((text: string) => unknown)[];
  empty: Readonly<ResultRow>;
}

/** Shapes by the names of statements. */
export type Shapes = Map<string, Shape>;

/**
 * Reads rows with the parsers of the previous execution. pg itself would find the parser of each column again on every
 * execution, and would copy a statement given as an object by its property descriptors (`normalizeQueryConfig`). Each
 * takes longer than writing the messages of a query.
 */
export class StatementRun extends pg.Query {
  declare readonly text: string;
  declare values: unknown[];
  declare name: string;
  /** The rows so far. */
  readonly found: ResultRow[] = [];
  /** A value that could not be read. */
  unreadable: Error | undefined;
  readonly #shapes: Shapes;
  readonly #keeps: Statement['keeps'];
  #shape: Shape | undefined;

  constructor({ name, text, values, keeps }: Statement, shapes: Shapes) {
    super(text, values);
    if (name !== undefined) this.name = name;
    this.#shapes = shapes;
    this.#keeps = keeps;
  }

  /** Called by pg, as is the next one. */
  handleRowDescription({ fields }: { fields: readonly Column[] }): void {
    const known = this.#shapes.get(this.name);
    // A migration may have changed what a statement returns.
    if (known && isDescribedBy(known, fields)) {
      this.#shape = known;
      return;
    }
    this.#shape = shapeOf(fields);
    if (this.name !== undefined) this.#shapes.set(this.name, this.#shape);
  }

  handleDataRow({ fields, length }: { fields: readonly (string | null)[]; length: number }): void {
    if (this.#keeps?.(length) === false) return;
    try {
      if (this.#shape) this.found.push(read(this.#shape, fields));
    } catch (error) {
      this.unreadable ??= new Error(`a value that ${this.name ?? this.text} returned cannot be read`, { cause: error });
    }
  }
}

function shapeOf(columns: readonly Column[]): Shape {
  return {
    columns,
    parsers: columns.map(({ dataTypeID }) => parserOf(dataTypeID)),
    empty: Object.fromEntries(columns.map(({ name }) => [name, null])),
  };
}

function isDescribedBy({ columns }: Shape, fields: readonly Column[]): boolean {
  if (columns.length !== fields.length) return false;
  for (let index = 0; index < fields.length; index++) {
    const [column, field] = [columns[index], fields[index]];
    if (column?.name !== field?.name || column?.dataTypeID !== field?.dataTypeID) return false;
  }
  return true;
}

function read({ columns, parsers, empty }: Shape, values: readonly (string | null)[]): ResultRow {
  const row = { ...empty };
  for (let index = 0; index < columns.length; index++) {
    const value = values[index];
    const column = columns[index];
    const parse = parsers[index];
    if (column && parse) row[column.name] = typeof value === 'string' ? parse(value) : null;
  }
  return row;
}

const { builtins } = pg.types;

/** Timestamps as the API shows them, and counters as numbers (ours stay far below 2^53). */
function parserOf(oid: number): (text: string) => unknown {
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
