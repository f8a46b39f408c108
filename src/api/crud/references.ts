/** Which resource refers to which: one table for all families, so that no resource is deleted while others refer to it. */
import { idsOf } from '../../resources/definition/reference.ts';
import type { Fields, ReferencedFamily, Resource } from '../../resources/definition/resource.ts';
import { invalidRequest, resourceInUse } from '../errors/errors.ts';
import { words } from '../errors/naming.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';

/** The resource that refers to others, and the field that does. */
export interface ReferenceSource {
  referrer: Pick<Resource, 'name'>;
  referrerId: string;
  /** For a module's field, prefixed with the module: `ip_restriction/ip_policy_ids`. */
  field: string;
}

/** An id that a request named, and where. */
export interface Pointer {
  id: string;
  /** JSON pointer in the body. */
  at: string;
  /** Families that it may belong to. */
  to: readonly ReferencedFamily[];
}

/** The fields of a family or module that refer to others. */
export function referringFields(fields: Fields): string[] {
  return Object.entries(fields).flatMap(([name, { refersTo }]) => (refersTo ? [name] : []));
}

/** The pointers in a reference field of a body. */
export function pointersOf(fields: Fields, name: string, value: unknown): Pointer[] {
  const to = fields[name]?.refersTo ?? [];
  const many = Array.isArray(value);
  return idsOf(value).map((id, index) => ({ id, at: many ? `/${name}/${index}` : `/${name}`, to }));
}

/**
 * Replaces the references of one field. New targets are locked against deletion until the transaction
 * ends. Throws INVALID_REQUEST for an id that does not exist, unless the field already had it: a policy may be deleted
 * while others refer to it, and a client must be able to write back what it has read.
 */
export async function setReferences(tx: Executor, from: ReferenceSource, pointers: readonly Pointer[]): Promise<void> {
  const { referrer, referrerId, field } = from;
  const ids = [...new Set(pointers.map(({ id }) => id))];
  if (ids.length === 0) {
    await tx.query({ ...FORGET, values: [referrerId, field] });
    return;
  }
  const statement = replacing(referencedFamilies(pointers));
  const found = await tx.query({ ...statement, values: [referrerId, field, referrer.name, ids] });
  const known = new Set(found.map(({ id }) => id));
  const missing = pointers.filter(({ id }) => !known.has(id));
  if (missing.length === 0) return;
  throw invalidRequest(
    Object.fromEntries(missing.map(({ id, at, to }) => [at, missingTarget(id, to)])),
    Object.fromEntries(missing.map(({ at }) => [at, 'does not exist'])),
  );
}

/** Replaces the references of one field of many resources. The caller must hold locks on them and their targets. */
export async function moveReferences(
  tx: Executor,
  field: string,
  references: readonly (Omit<ReferenceSource, 'field'> & { targetId: string })[],
): Promise<void> {
  const referrers = references.map(({ referrer }) => referrer.name);
  const [ids, targets] = [references.map(({ referrerId }) => referrerId), references.map(({ targetId }) => targetId)];
  const forget = `
    delete from resource_references r where place = $1 and referrer_id = any($2) and not exists (
      select from unnest($2::text[], $3::text[]) wanted (id, target) where id = referrer_id and target = target_id)`;
  await tx.query({ name: 'references.leave', text: forget, values: [field, ids, targets] });
  const add = `
    insert into resource_references (referrer_id, place, referrer, target_id)
    select distinct id, $1, referrer, target from unnest($2::text[], $3::text[], $4::text[]) wanted (id, target, referrer)
    on conflict do nothing`;
  await tx.query({ name: 'references.add', text: add, values: [field, ids, targets, referrers] });
}

/** The families that the pointers refer to. */
function referencedFamilies(pointers: readonly Pointer[]): ReferencedFamily[] {
  const targets = new Map(pointers.flatMap(({ to }) => to.map((target) => [target.prefix, target])));
  return [...targets.values()].filter((target) => pointers.some(({ id }) => isOf(target, id)));
}

const isOf = ({ prefix }: ReferencedFamily, id: string) => id.startsWith(`${prefix}_`);

function missingTarget(id: string, to: readonly ReferencedFamily[]): string {
  const target = to.find((each) => isOf(each, id));
  return `${words(target?.name ?? 'resource')} ${id} does not exist`;
}

const FORGET = {
  name: 'references.forget',
  text: 'delete from resource_references where referrer_id = $1 and place = $2',
};

const statements = new Map<string, { name: string; text: string }>();

/**
 * One statement deletes, looks up and inserts, to save round trips. Returns the ids that were there before, and those of
 * the new targets that exist.
 */
function replacing(targets: readonly ReferencedFamily[]): { name: string; text: string } {
  const name = ['references.set', ...targets.map(({ prefix }) => prefix)].join('_');
  let statement = statements.get(name);
  if (!statement) {
    // In order, so that two requests cannot deadlock.
    const found = targets.map(
      ({ table }) => `${table}_found as (
        select id from ${table} where id = any($4) and ${ofThisAccount()} and id not in (select id from kept) order by id for key share)`,
    );
    const ids = targets.map(({ table }) => `select id from ${table}_found`).join(' union all ');
    const text = `
      with kept as (
        select target_id as id from resource_references where referrer_id = $1 and place = $2 and target_id = any($4)),
      forgotten as (
        delete from resource_references where referrer_id = $1 and place = $2 and target_id <> all($4)),
      ${found.join(', ')},
      added as (
        insert into resource_references (referrer_id, place, referrer, target_id) select $1, $2, $3, id from (${ids}) f)
      select id from kept union all ${ids}`;
    statement = { name, text };
    statements.set(name, statement);
  }
  return statement;
}

/** How many referrers of a family an error names. */
const NAMED = 5;

const REFERRERS = {
  name: 'references.to',
  text: `
    select referrer, array_agg(referrer_id) as ids from (
      select distinct referrer, referrer_id, dense_rank() over (partition by referrer order by referrer_id) as rank
        from resource_references where target_id = $1 and ${ofThisAccount()}) r
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
  const referrers = Object.entries(details).map(([name, ids]) => `${words(name)} ${ids}`);
  throw resourceInUse(`Still in use by ${referrers.join(' and ')}; change those first.`, details);
}

/** Deletes the references from deleted resources. */
export async function dropReferences(tx: Executor, referrerIds: readonly string[]): Promise<void> {
  const text = 'delete from resource_references where referrer_id = any($1)';
  await tx.query({ name: 'references.drop', text, values: [referrerIds] });
}
