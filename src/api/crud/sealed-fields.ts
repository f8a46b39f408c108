/**
 * Fields with secret parts (`shorten`). Responses show them as they were sent, so a row in memory has the whole value; in
 * the database its column has the shortened one, and `sealed_<field>` the whole one.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Fields, Resource } from '../../resources/definition/resource.ts';
import type { SealedColumn } from '../secrets/rotation.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Database, Executor } from '../store/database.ts';
import { PLAIN, type Row, sealedColumn } from '../store/repository.ts';

export interface SealedFields {
  /** A row of the database with the whole values. @throws UNAVAILABLE without the key */
  open(secrets: Secrets, row: Row): Row;
  /**
   * A row as it is stored.
   * @param before the row as `open` returned it; what has not changed since is not sealed again
   * @throws UNAVAILABLE for a value with secret parts, without a key
   */
  seal(secrets: Secrets, row: Row, before?: Row): Row;
  /** A row as events and stored responses show it. */
  shorten(row: Row): Row;
  /** Of the fields in a request that created a resource: those that its stored response lacks. */
  lacking(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
}

type Shortening = readonly [name: string, shorten: (value: unknown) => unknown];

const shortenings = (fields: Fields): Shortening[] =>
  Object.entries(fields).flatMap(([name, { shorten }]) => (shorten ? [[name, shorten] as const] : []));

export function sealedFields({ table, fields }: Pick<Resource, 'table' | 'fields'>): SealedFields {
  const all = shortenings(fields);
  const changed = (
    row: Row,
    change: (name: string, shorten: Shortening[1]) => Readonly<Record<string, unknown>>,
  ): Row =>
    all.length === 0 ? row : Object.assign({ ...row }, ...all.map(([name, shorten]) => change(name, shorten)));
  return {
    open: (secrets, row) =>
      changed(row, (name) => {
        const field = sealedColumn(name);
        const sealed = row[field];
        if (typeof sealed !== 'string' || sealed === PLAIN) return {};
        return { [name]: JSON.parse(secrets.open(sealed, { table, id: row.id, field })) };
      }),
    seal: (secrets, row, before) =>
      changed(row, (name, shorten) => {
        const field = sealedColumn(name);
        const value = row[name];
        const short = shorten(value);
        if (before && isDeepStrictEqual(value, before[name])) return before[field] === PLAIN ? {} : { [name]: short };
        if (isDeepStrictEqual(short, value)) return { [field]: null };
        return { [name]: short, [field]: secrets.seal(JSON.stringify(value), { table, id: row.id, field }) };
      }),
    shorten: (row) => changed(row, (name, shorten) => ({ [name]: shorten(row[name]) })),
    lacking: (given) => Object.fromEntries(all.flatMap(([name]) => (name in given ? [[name, given[name]]] : []))),
  };
}

/** The columns of such fields. */
export const sealedColumnsOf = ({ table, fields }: Pick<Resource, 'table' | 'fields'>): SealedColumn[] =>
  shortenings(fields).map(([name]) => ({ table, column: sealedColumn(name) }));

const BATCH = 100;

/**
 * Seals what an earlier release stored in plain; returns how many values had secret parts. May be interrupted and run
 * again, and run while servers run.
 * @param signal stops it after the batch under way
 */
export async function sealPlain(
  db: Database,
  secrets: Secrets,
  families: readonly Resource[],
  signal?: AbortSignal,
): Promise<number> {
  let sealed = 0;
  for (const family of families) {
    for (const [name] of shortenings(family.fields)) {
      for (let more = true; more && !signal?.aborted; ) {
        const done = await db.transaction((tx) => sealSome(tx, secrets, family, name));
        sealed += done.sealed;
        more = done.rows === BATCH;
      }
    }
  }
  return sealed;
}

/** Without an event and a new revision: nothing changes for clients. */
async function sealSome(tx: Executor, secrets: Secrets, { table, fields }: Resource, name: string) {
  const column = sealedColumn(name);
  const one = sealedFields({
    table,
    fields: Object.fromEntries(Object.entries(fields).filter(([key]) => key === name)),
  });
  const text = `
    select id, created_at, revision, ${name} from ${table} where ${column} = '${PLAIN}'
     order by id limit ${BATCH} for no key update`;
  const found = z.array(plainRow).parse(await tx.query({ text, values: [] }));
  let sealed = 0;
  for (const row of found) {
    const { [name]: short, [column]: envelope } = one.seal(secrets, row);
    if (envelope !== null) sealed++;
    const values = [row.id, short === null ? null : JSON.stringify(short), envelope];
    await tx.query({ text: `update ${table} set ${name} = $2, ${column} = $3 where id = $1`, values });
  }
  return { rows: found.length, sealed };
}

const plainRow = z.looseObject({ id: z.string(), created_at: z.string(), revision: z.number() });
