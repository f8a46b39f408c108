/** Which resource refers to which: one table for every family, so that nothing is deleted from under its referrer. */
import { idsOf } from '../resources/reference.ts';
import type { Fields, Resource, Target } from '../resources/resource.ts';
import { invalidRequest, resourceInUse } from './errors.ts';
import type { Executor } from './store/database.ts';
import { words } from './words.ts';

/** Who refers, and from where. */
export interface Place {
  referrer: Pick<Resource, 'name'>;
  referrerId: string;
  /** Name of the field, with that of its module before it. */
  place: string;
}

/** An id that a request named, and where. */
export interface Pointer {
  id: string;
  /** JSON pointer in the body. */
  at: string;
  /** Families that it may belong to. */
  to: readonly Target[];
}

/** The fields of a family or module that refer to others. */
export function referringFields(fields: Fields): string[] {
  return Object.entries(fields).flatMap(([name, { refersTo }]) => (refersTo ? [name] : []));
}

/** What a reference field of a body points at. */
export function pointersOf(fields: Fields, name: string, value: unknown): Pointer[] {
  const to = fields[name]?.refersTo ?? [];
  const many = Array.isArray(value);
  return idsOf(value).map((id, index) => ({ id, at: many ? `/${name}/${index}` : `/${name}`, to }));
}

/**
 * Makes the references from one place exactly these. The targets are locked against deletion until the transaction
 * ends. Throws INVALID_REQUEST for an id of nothing, unless it was there before: a policy may be deleted while others
 * refer to it, and what was read must be good for writing back.
 */
export async function setReferences(tx: Executor, from: Place, pointers: readonly Pointer[]): Promise<void> {
  const { referrer, referrerId, place } = from;
  const text = 'select target_id from resource_references where referrer_id = $1 and place = $2';
  const found = await tx.query({ name: 'references.of', text, values: [referrerId, place] });
  const before = new Set(found.map((row) => String(row.target_id)));
  const added = pointers.filter(({ id }) => !before.has(id));
  await requireTargets(tx, added);
  const kept = new Set(pointers.map(({ id }) => id));
  const removed = [...before].filter((id) => !kept.has(id));
  if (removed.length > 0) await tx.query({ ...REMOVE, values: [referrerId, place, removed] });
  const ids = [...new Set(added.map(({ id }) => id))];
  if (ids.length > 0) await tx.query({ ...ADD, values: [referrerId, place, referrer.name, ids] });
}

const REMOVE = {
  name: 'references.remove',
  text: 'delete from resource_references where referrer_id = $1 and place = $2 and target_id = any($3)',
};
const ADD = {
  name: 'references.add',
  text: `insert into resource_references (referrer_id, place, referrer, target_id)
         select $1, $2, $3, unnest($4::text[])`,
};

/** Locks what the ids name. Throws INVALID_REQUEST naming every id of nothing. */
async function requireTargets(tx: Executor, pointers: readonly Pointer[]): Promise<void> {
  const targets = new Map(pointers.flatMap(({ to }) => to.map((target) => [target.prefix, target])));
  const missing: Record<string, string> = {};
  for (const target of targets.values()) {
    const named = pointers.filter(({ id }) => id.startsWith(`${target.prefix}_`));
    if (named.length === 0) continue;
    // In order, so that two requests never wait for each other.
    const text = `select id from ${target.table} where id = any($1) order by id for key share`;
    const found = await tx.query({ name: `${target.table}.refer`, text, values: [named.map(({ id }) => id)] });
    const ids = new Set(found.map(({ id }) => id));
    for (const { id, at } of named) if (!ids.has(id)) missing[at] = `there is no ${words(target.name)} ${id}`;
  }
  if (Object.keys(missing).length > 0) throw invalidRequest(missing);
}

/** How many referrers of a family an error names. */
const NAMED = 5;

const REFERRERS = {
  name: 'references.to',
  text: `
    select referrer, array_agg(referrer_id) as ids from (
      select distinct referrer, referrer_id, dense_rank() over (partition by referrer order by referrer_id) as rank
        from resource_references where target_id = $1) r
     where rank <= ${NAMED + 1} group by referrer order by referrer`,
};

/** Throws RESOURCE_IN_USE naming what refers to a locked resource. */
export async function refuseWhileReferenced(tx: Executor, id: string): Promise<void> {
  const found = await tx.query({ ...REFERRERS, values: [id] });
  if (found.length === 0) return;
  const details: Record<string, string> = {};
  for (const { referrer, ids } of found) {
    const named = idsOf(ids).toSorted();
    if (named.length > NAMED) named.splice(NAMED, named.length, '…');
    details[String(referrer)] = named.join(', ');
  }
  const said = Object.entries(details).map(([name, ids]) => `${words(name)} ${ids}`);
  throw resourceInUse(`Still in use by ${said.join(' and ')}; change those first.`, details);
}

/** Forgets the references from resources that are deleted. */
export async function dropReferences(tx: Executor, referrerIds: readonly string[]): Promise<void> {
  const text = 'delete from resource_references where referrer_id = any($1)';
  await tx.query({ name: 'references.drop', text, values: [referrerIds] });
}
