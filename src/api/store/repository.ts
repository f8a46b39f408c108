/**
 * One repository for every family, built from its definition: a column per field, under the field's name.
 *
 * Each write of one resource is one statement that also writes its event, so that neither exists without the other, and
 * so that a change that needs nothing else needs no BEGIN and COMMIT.
 */
import type { Manager } from '../../resources/definition/manager.ts';
import type { Field, Resource } from '../../resources/definition/resource.ts';
import { ofThisAccount } from './account-scope.ts';
import type { Executor } from './database.ts';
import { forgetManagersCte, managerCte, managerValues } from './manager-record.ts';
import { EVENT_VALUES, eventCte, eventsCte, eventValues, type OutboxEvent } from './outbox.ts';
import { FIRST, type PageQuery, pageStatement } from './page-statement.ts';
import type { Statement } from './statement.ts';

/** A stored resource: its fields, and what every table has. Timestamps are RFC 3339 in UTC. */
export interface Row {
  readonly id: string;
  readonly created_at: string;
  /** Counts changes, from 1. */
  readonly revision: number;
  readonly [column: string]: unknown;
}

export interface Page {
  rows: Row[];
  /** Whether there are rows after these. */
  more: boolean;
}

export interface Repository {
  get(db: Executor, id: string): Promise<Row | undefined>;
  /**
   * The row, locked for a change until the transaction ends. Other transactions may add references to it meanwhile:
   * they do not queue, so a lock that excluded them might wait forever.
   */
  lock(tx: Executor, id: string): Promise<Row | undefined>;
  /** The same for a deletion: no transaction can add a reference to it. */
  lockToRemove(tx: Executor, id: string): Promise<Row | undefined>;
  /** Newest first. */
  page(db: Executor, query: PageQuery): Promise<Page>;
  /** All rows with this value in one column, in order of id. With `part`, at most `limit` of them, after an id. */
  where(db: Executor, column: string, value: string, part?: { after: string; limit: number }): Promise<Row[]>;
  /** @param manager recorded with it, if there is one */
  insert(db: Executor, row: Row, event: OutboxEvent, manager?: Manager): Promise<void>;
  /** Writes all fields of a locked row; returns its new revision. */
  update(tx: Executor, row: Row, event: OutboxEvent): Promise<number>;
  /** Deletes a locked row, with the records of the idempotency keys that made it and of its managers. */
  remove(tx: Executor, id: string, event: OutboxEvent): Promise<void>;
  /** For parts of a resource, whose own event reports them. */
  insertMany(tx: Executor, rows: readonly Row[]): Promise<void>;
  /** For parts of a resource, whose own event reports them. */
  updateMany(tx: Executor, rows: readonly Row[]): Promise<void>;
  /** @param events none for parts of a resource, whose own event reports them */
  removeMany(tx: Executor, ids: readonly string[], events?: readonly OutboxEvent[]): Promise<void>;
}

/** The column beside a field with secret parts (`shorten`). */
export const sealedColumn = (field: string) => `sealed_${field}`;
/** In that column: the value has not been sealed yet. */
export const PLAIN = 'plain';

/** @param hidden columns that no response shows, such as the hash of a token; written once, by `insert` */
export function repository(resource: Resource, hidden: readonly string[] = []): Repository {
  const { table } = resource;
  const stored = Object.entries(resource.fields).filter(([, field]) => field.storage !== 'none');
  const withSealed = ([name, { shorten }]: (typeof stored)[number]) => (shorten ? [name, sealedColumn(name)] : [name]);
  const fields = stored.flatMap(withSealed);
  const mutable = stored.filter(([, field]) => field.onUpdate || field.onCreate === 'derived').flatMap(withSealed);
  const shown = ['id', 'created_at', 'revision', ...fields];
  const columns = shown.join(', ');
  const written = ['id', 'created_at', 'updated_at', ...fields, ...hidden];

  // What platform admins manage belongs to no account.
  const inAccount = (alias?: string) => (resource.access === 'platform' ? '' : ` and ${ofThisAccount(alias)}`);

  const prepared = (name: string, text: string) => {
    const statement = { name: `${table}.${name}`, text };
    return (...values: unknown[]): Statement => ({ ...statement, values });
  };
  const parameters = (count: number, first = 1) => Array.from({ length: count }, (_, index) => `$${first + index}`);
  const assignments = (from: (column: string, index: number) => string) =>
    [...mutable.map((column, index) => `${column} = ${from(column, index)}`), 'revision = t.revision + 1'].join(', ');
  const forget = (match: string) =>
    `forgotten as (delete from idempotency_keys where resource_id ${match} and closed_at is null),
     ${forgetManagersCte(match)}`;

  const one = `where id = $1${inAccount()}`;
  const get = prepared('get', `select ${columns} from ${table} ${one}`);
  const lock = prepared('lock', `select ${columns} from ${table} ${one} for no key update`);
  const lockToRemove = prepared('lock_to_remove', `select ${columns} from ${table} ${one} for update`);
  const inserting = (ctes: string) =>
    `with ${ctes} insert into ${table} (${written.join(', ')}) values (${parameters(written.length).join(', ')})`;
  const insertedEvent = eventCte(written.length + 1);
  const insert = prepared('insert', inserting(insertedEvent));
  const insertManaged = prepared(
    'insert_managed',
    inserting(`${insertedEvent}, ${managerCte(written.length + EVENT_VALUES + 1, { id: '$1', since: '$2' })}`),
  );
  const update = prepared(
    'update',
    `with ${eventCte(mutable.length + 3)}
     update ${table} t set ${assignments((_, index) => `$${index + 3}`)}, updated_at = $2 ${one}
     returning revision`,
  );
  const remove = prepared('remove', `with ${eventCte(2)}, ${forget('= $1')} delete from ${table} ${one}`);
  const insertMany = prepared(
    'insert_many',
    `insert into ${table} (${written.join(', ')})
     select ${written.join(', ')} from jsonb_populate_recordset(null::${table}, $1::jsonb)`,
  );
  const updateMany = prepared(
    'update_many',
    `update ${table} t set ${assignments((column) => `s.${column}`)}, updated_at = $2
       from jsonb_populate_recordset(null::${table}, $1::jsonb) s where t.id = s.id${inAccount('t')}`,
  );
  const removeMany = prepared(
    'remove_many',
    `with ${eventsCte(2)}, ${forget('= any($1)')} delete from ${table} where id = any($1)${inAccount()}`,
  );

  const rows = async (db: Executor, statement: Statement) => (await db.query(statement)).map(asRow);
  const row = async (db: Executor, statement: Statement) => {
    const [found] = await db.query(statement);
    return found && asRow(found);
  };
  const columnValue = (row: Row, column: string) => encode(resource.fields[column], row[column]);
  const now = () => new Date().toISOString();

  return {
    get: (db, id) => row(db, get(id)),
    lock: (tx, id) => row(tx, lock(id)),
    lockToRemove: (tx, id) => row(tx, lockToRemove(id)),
    async page(db, query) {
      const { limit, maxBytes = Number.POSITIVE_INFINITY } = query;
      let read = 0;
      let more = false;
      const keeps = (bytes: number) => {
        more ||= read > 0 && read + bytes > maxBytes;
        read += bytes;
        return !more;
      };
      const found = await rows(db, { ...pageStatement(resource, shown, query), keeps });
      return { rows: found.slice(0, limit), more: more || found.length > limit };
    },
    where(db, column, value, part) {
      const text = `select ${columns} from ${table} where ${column} = $1 and id > $2${inAccount()} order by id limit $3`;
      return rows(db, prepared(`by_${column}`, text)(value, part?.after ?? FIRST, part?.limit ?? null));
    },
    async insert(db, row, event, manager) {
      const columns = [...fields, ...hidden].map((column) => columnValue(row, column));
      const values = [row.id, row.created_at, row.created_at, ...columns, ...eventValues(event)];
      await db.query(manager ? insertManaged(...values, ...managerValues(manager)) : insert(...values));
    },
    async update(tx, row, event) {
      const values = mutable.map((column) => columnValue(row, column));
      const [updated] = await tx.query(update(row.id, now(), ...values, ...eventValues(event)));
      return Number(updated?.revision);
    },
    async remove(tx, id, event) {
      await tx.query(remove(id, ...eventValues(event)));
    },
    async insertMany(tx, many) {
      if (many.length === 0) return;
      const records = many.map((row) => ({ ...row, updated_at: row.created_at }));
      await tx.query(insertMany(JSON.stringify(records)));
    },
    async updateMany(tx, many) {
      if (many.length === 0) return;
      await tx.query(updateMany(JSON.stringify(many), now()));
    },
    async removeMany(tx, ids, events = []) {
      if (ids.length === 0) return;
      await tx.query(removeMany(ids, JSON.stringify(events)));
    },
  };
}

/** The columns of `shown` are there by construction; parsing every row of a list again would cost more than the list. */
function asRow(record: Record<string, unknown>): Row {
  return record as unknown as Row;
}

function encode(field: Field | undefined, value: unknown): unknown {
  return field?.storage === 'jsonb' && value !== null ? JSON.stringify(value) : value;
}
