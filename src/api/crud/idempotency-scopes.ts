/**
 * Scopes of idempotent creates. The creates of a scope are numbered, and each number is used at most once, even after
 * the resource created with it is deleted. A row per caller and scope keeps the highest number; a create locks it, so
 * that closing the scope comes either before or after it.
 */
import { z } from 'zod';
import { conflict } from '../errors/errors.ts';
import type { Executor } from '../store/database.ts';
import { BATCH, inBatches } from './batches.ts';

/** A place in a scope as it is stored: with the digest of the name of the scope. */
export interface StoredPlace {
  scope: string;
  sequence: number;
}

export interface Scope {
  nextSequence: number;
  /** Resources created in it, according to the key records, newest first. Some may no longer exist. */
  created: { id: string; path: string; sequence: number }[];
}

/**
 * A statement that takes a number if it is the next one, and then has a row. The scope is locked either way. The first
 * create of a scope may have any number, so that a scope can continue after a restore from a backup.
 * @param parameters as they are numbered in the whole statement
 */
export const advancing = (parameters: Record<'principal' | 'scope' | 'sequence' | 'usedAt', string>) => `
  insert into idempotency_scopes as scope (principal, digest, sequence, closed_through, used_at)
  values (${parameters.principal}, ${parameters.scope}, ${parameters.sequence}, 0, ${parameters.usedAt})
  on conflict (principal, digest) do update set sequence = excluded.sequence, used_at = excluded.used_at
   where scope.sequence = excluded.sequence - 1
  returning 1`;

/** Far more than one scope should need, and few enough for one response. */
export const MAX_IN_SCOPE = 1000;

const COUNT = 'select count(*) as records from idempotency_keys where principal = $1 and scope = $2';

/** Call it once the key is claimed. Deleted resources do not count. @throws CONFLICT if the scope was full */
export async function requireRoom(tx: Executor, principal: string, { scope, sequence }: StoredPlace): Promise<void> {
  // Numbers rise by one, so the scope cannot be full below this one.
  if (sequence <= MAX_IN_SCOPE) return;
  const [row] = await tx.query({ name: 'scope.count', text: COUNT, values: [principal, scope] });
  if (Number(row?.records) <= MAX_IN_SCOPE) return;
  throw conflict(`An idempotency scope may have at most ${MAX_IN_SCOPE} resources; use another scope.`, {
    idempotency_scope: 'full',
  });
}

const POSITION = 'select sequence, closed_through from idempotency_scopes where principal = $1 and digest = $2';

const position = z.object({ sequence: z.number(), closed_through: z.number() });

/** Why a create that is neither the next one nor a repetition is refused. */
export async function refusal(tx: Executor, principal: string, { scope, sequence }: StoredPlace) {
  const [row] = await tx.query({ name: 'scope.position', text: POSITION, values: [principal, scope] });
  const { sequence: last, closed_through: closed } = position.parse(row);
  const isClosed = sequence <= closed;
  const reason = isClosed
    ? `This idempotency scope is closed up to ${closed}; nothing more can be created with the sequence number ${sequence}.`
    : `The next sequence number of this idempotency scope is ${last + 1}, not ${sequence}.`;
  return conflict(reason, {
    idempotency_scope: isClosed ? 'closed' : 'out_of_sequence',
    next_sequence: String(last + 1),
  });
}

const READ = `
  select scope.sequence, created.resource_id, created.resource_path, created.sequence as number
    from idempotency_scopes scope
    left join idempotency_keys created
      on created.principal = scope.principal and created.scope = scope.digest and created.resource_id is not null
   where scope.principal = $1 and scope.digest = $2
   order by created.sequence desc`;

const row = z.object({
  sequence: z.number(),
  resource_id: z.string().nullable(),
  resource_path: z.string().nullable(),
  number: z.number().nullable(),
});

export async function readScope(db: Executor, principal: string, scope: string): Promise<Scope> {
  const rows = (await db.query({ name: 'scope.read', text: READ, values: [principal, scope] })).map((found) =>
    row.parse(found),
  );
  const created = rows.flatMap(({ resource_id: id, resource_path: path, number: sequence }) =>
    id === null || path === null || sequence === null ? [] : [{ id, path, sequence }],
  );
  return { nextSequence: (rows[0]?.sequence ?? 0) + 1, created };
}

/** The number after the last one is closed as well: a create with it may be in flight. */
const CLOSE = `
  insert into idempotency_scopes as scope (principal, digest, sequence, closed_through, used_at) values ($1, $2, 1, 1, $3)
  on conflict (principal, digest) do update
     set sequence = scope.sequence + 1, closed_through = scope.sequence + 1, used_at = excluded.used_at`;

/**
 * Makes every number up to the next one unusable. Waits for a create under way: if it commits, it is reported; if it
 * rolls back, it cannot be repeated.
 */
export async function closeScope(db: Executor, principal: string, scope: string): Promise<Scope> {
  const values = [principal, scope, new Date().toISOString()];
  await db.query({ name: 'scope.close', text: CLOSE, values });
  return readScope(db, principal, scope);
}

const FORGET = `
  delete from idempotency_scopes
   where ctid = any(array(
     select ctid from idempotency_scopes scope
      where used_at < $1
        and not exists (select 1 from idempotency_keys
                         where idempotency_keys.principal = scope.principal and idempotency_keys.scope = scope.digest)
      limit ${BATCH} for update skip locked))
  returning 1`;

/** Postpones the next check of a scope that still has resources. */
const KEEP = `
  update idempotency_scopes set used_at = $2
   where ctid = any(array(
     select ctid from idempotency_scopes where used_at < $1 limit ${BATCH} for update skip locked))
  returning 1`;

/** Deletes the scopes that were last used before this time, except those with a resource that still exists. */
export async function sweepScopes(db: Executor, before: string, now: string): Promise<void> {
  await inBatches(db, FORGET, [before]);
  await inBatches(db, KEEP, [before, now]);
}
