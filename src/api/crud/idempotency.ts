/**
 * Idempotent creates: a record per caller and key, written first in the creating transaction. A second request under
 * the key waits on the record's index entry, then returns the response of the first.
 */
import { hkdfSync } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { type IdempotencyPlace, idempotencyDigest } from '../../resources/definition/idempotency.ts';
import { sha256Hex } from '../../resources/formats/sha256.ts';
import { ApiError, conflict, unavailable } from '../errors/errors.ts';
import type { Caller } from '../http/authentication.ts';
import { decrypt, encrypt } from '../secrets/aes-gcm.ts';
import type { Database, Executor } from '../store/database.ts';
import { databaseTime } from '../store/database-time.ts';
import { BATCH, inBatches } from './batches.ts';
import { existing } from './existing.ts';
import { advancing, refusal, requireRoom, type StoredPlace, sweepScopes } from './idempotency-scopes.ts';

/** How long a replay can still show the one-time token. */
export const TOKEN_KEPT_MS = 24 * 60 * 60 * 1000;
/** How long a closed key, or a scope with nothing in it, is remembered: far longer than any request can be in flight. */
export const CLOSED_KEPT_MS = 30 * 24 * 60 * 60 * 1000;

export interface Attempt {
  /** The calling user or bot: idempotency keys belong to them, not to their API keys. */
  principal: string;
  digest: string;
  fingerprint: string;
  place: StoredPlace | undefined;
  /** The key that seals the token, derived from two secrets that are not stored. */
  sealingKey: () => Buffer;
}

/** The response to a create, as it is stored and replayed. */
export interface StoredResponse {
  resourceId: string;
  /** From the root of the API. */
  path: string;
  status: number;
  /** Without its token; the links in it are paths. */
  body: Readonly<Record<string, unknown>>;
  token: string | null;
}

export type Replay = Pick<StoredResponse, 'status' | 'body' | 'token'>;

/** A create under an idempotency key, as received. */
export interface Tried {
  caller: Caller;
  idempotencyPlace: IdempotencyPlace | undefined;
  method: string;
  path: string;
  /** As it was sent, once it is known to be valid: `canonicalize` throws on lone surrogates and on infinity (1e999). */
  sent: unknown;
}

/** The attempt that a request under an idempotency key makes. */
export function attempt(key: string, { caller, idempotencyPlace, method, path, sent }: Tried): Attempt {
  const place = idempotencyPlace && { ...idempotencyPlace, scope: idempotencyDigest(idempotencyPlace.scope) };
  const placed = place ? `${place.scope} ${place.sequence}\n` : '';
  return {
    principal: caller.principal,
    digest: idempotencyDigest(key),
    fingerprint: sha256Hex(`${method} ${path}\n${placed}${canonicalize(sent ?? {})}`),
    place,
    // RFC 5869. The salt differs for each key, so every token has a sealing key of its own.
    sealingKey: () => Buffer.from(hkdfSync('sha256', caller.secret, key, 'tunnel-operator one-time token', 32)),
  };
}

const record = z.object({
  fingerprint: z.string().nullable(),
  resource_id: z.string().nullable(),
  status: z.number().nullable(),
  body: z.record(z.string(), z.unknown()).nullable(),
  sealed_token: z.instanceof(Buffer).nullable(),
  created_at: z.string(),
  closed: z.boolean(),
});

/** @param next a statement without a row if the sequence number cannot be used; nothing is inserted then */
const claimIf = (next: string) => `
  with next as (${next}), claimed as (
    insert into idempotency_keys (principal, digest, fingerprint, scope, sequence,
                                  resource_id, resource_path, status, body, sealed_token, created_at)
    select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 from next
    on conflict do nothing returning 1)
  select exists (select from next) as is_next, exists (select from claimed) as is_claimed`;
const CLAIM = claimIf('select 1');
/** One statement for both, since each costs a round trip. */
const ADVANCE_AND_CLAIM = claimIf(advancing({ principal: '$1', scope: '$4', sequence: '$5', usedAt: '$11' }));

const READ = `
  select k.fingerprint, k.resource_id, k.status, k.body, k.sealed_token, k.created_at,
         k.closed_at is not null or coalesce(k.sequence <= s.closed_through, false) as closed
    from idempotency_keys k
    left join idempotency_scopes s on s.principal = k.principal and s.digest = k.scope
   where k.principal = $1 and k.digest = $2`;

/**
 * Claims the key for this transaction, or returns the response stored under it. Waits for a request that is still under
 * way under the same key or in the same scope. Throws IDEMPOTENCY_KEY_REUSED or, for a closed key and for a sequence
 * number that cannot be used, CONFLICT.
 * @param response what to store under the key; without it, `complete` stores it
 */
export async function claim(tx: Executor, tried: Attempt, response?: StoredResponse): Promise<Replay | undefined> {
  const { principal, digest, fingerprint, place } = tried;
  const stored = response ? columnsOf(tried, response) : [null, null, null, null, null];
  const values = [principal, digest, fingerprint, place?.scope ?? null, place?.sequence ?? null, ...stored];
  let advances = place !== undefined;
  // Repeats only if the record disappears in between because its resource is deleted.
  for (let turn = 0; turn < 5; turn++) {
    const [name, text] = advances ? ['key.claim_next', ADVANCE_AND_CLAIM] : ['key.claim', CLAIM];
    const [row] = await tx.query({ name, text, values: [...values, new Date().toISOString()] });
    if (row?.is_claimed) {
      if (place) await requireRoom(tx, principal, place);
      return undefined;
    }
    const earlier = await recall(tx, tried);
    if (earlier) return earlier;
    if (place && !row?.is_next) throw await refusal(tx, principal, place);
    advances = false;
  }
  throw unavailable('The resource of this idempotency key is being created and deleted; try again.');
}

/** The response that was stored under a key, if any; throws as `claim` does. */
export async function recall(db: Executor, tried: Attempt): Promise<Replay | undefined> {
  const { principal, digest, fingerprint, sealingKey } = tried;
  const [found] = await db.query({ name: 'key.read', text: READ, values: [principal, digest] });
  return found && replay(record.parse(found), fingerprint, sealingKey);
}

function replay(found: z.output<typeof record>, fingerprint: string, sealingKey: () => Buffer): Replay {
  const { resource_id: resourceId, body, status } = found;
  if (found.closed) {
    throw conflict('This idempotency key is closed; nothing can be created with it.', {
      idempotency_key: 'closed',
      ...(resourceId === null ? {} : { resource_id: resourceId }),
    });
  }
  if (resourceId === null || body === null || status === null) throw new Error('an open record without its answer');
  if (found.fingerprint !== fingerprint) {
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'This idempotency key was already used for a different request.', {
      resource_id: resourceId,
    });
  }
  const fresh = Date.now() - Date.parse(found.created_at) < TOKEN_KEPT_MS;
  const token = fresh && found.sealed_token ? unseal(found.sealed_token, sealingKey(), resourceId) : null;
  return { status, body, token };
}

const COMPLETE = `
  update idempotency_keys set resource_id = $3, resource_path = $4, status = $5, body = $6, sealed_token = $7
   where principal = $1 and digest = $2`;

/** Stores a response that was not known when the key was claimed, in the same transaction. */
export async function complete(tx: Executor, tried: Attempt, response: StoredResponse): Promise<void> {
  const values = [tried.principal, tried.digest, ...columnsOf(tried, response)];
  await tx.query({ name: 'key.complete', text: COMPLETE, values });
}

function columnsOf({ sealingKey }: Attempt, { resourceId, path, status, body, token }: StoredResponse) {
  const sealed = token === null ? null : encrypt(token, sealingKey(), resourceId);
  return [resourceId, path, status, JSON.stringify(body), sealed];
}

/** Deletes the records of keys that created these resources, so that no replay shows a deleted resource. */
export async function forget(tx: Executor, resourceIds: readonly string[]): Promise<void> {
  const text = 'delete from idempotency_keys where resource_id = any($1) and closed_at is null';
  if (resourceIds.length > 0) await tx.query({ name: 'key.forget', text, values: [resourceIds] });
}

const FORGET_CALLS = `
  delete from idempotency_keys
   where resource_id = $1 and status = 200 and closed_at is null and created_at < $2`;

/**
 * Deletes the records of earlier calls on a resource, which may be many, once no request in flight can still repeat them. The
 * record of its create stays.
 */
export async function forgetCalls(tx: Executor, resourceId: string): Promise<void> {
  const before = new Date(Date.now() - CLOSED_KEPT_MS).toISOString();
  await tx.query({ name: 'key.forget_calls', text: FORGET_CALLS, values: [resourceId, before] });
}

const CLOSE = `
  insert into idempotency_keys (principal, digest, created_at, closed_at) values ($1, $2, $3, $3)
  on conflict (principal, digest) do update set closed_at = coalesce(idempotency_keys.closed_at, excluded.closed_at)
  returning resource_id, resource_path`;

const closed = z.object({ resource_id: z.string().nullable(), resource_path: z.string().nullable() });

/**
 * Makes a key unusable. Waits for a create under way: if it commits, it is reported; if it rolls back, it cannot be
 * repeated. Returns what was created under the key, whether or not it still exists.
 */
export async function close(db: Executor, principal: string, digest: string) {
  const values = [principal, digest, new Date().toISOString()];
  const [row] = await db.query({ name: 'key.close', text: CLOSE, values });
  const { resource_id, resource_path } = closed.parse(row);
  return resource_id === null || resource_path === null ? undefined : { id: resource_id, path: resource_path };
}

/**
 * Deletes expired records: sealed tokens, and closed keys and empty scopes that no request in flight can still use.
 * @param at milliseconds since 1970; default: the database's time
 */
export async function sweep(db: Database, at?: number): Promise<void> {
  const now = at ?? (await databaseTime(db));
  const before = (age: number) => new Date(now - age).toISOString();
  await inBatches(db, SWEEP_TOKENS, [before(TOKEN_KEPT_MS)]);
  await inBatches(db, SWEEP_UNUSED, [before(CLOSED_KEPT_MS)]);
  await sweepClosed(db, before(CLOSED_KEPT_MS));
  await sweepScopes(db, before(CLOSED_KEPT_MS), before(0));
}

const SWEEP_TOKENS = `
  update idempotency_keys set sealed_token = null
   where ctid = any(array(select ctid from idempotency_keys
                           where sealed_token is not null and created_at < $1 limit ${BATCH} for update skip locked))
  returning 1`;

const SWEEP_UNUSED = `
  delete from idempotency_keys
   where ctid = any(array(select ctid from idempotency_keys
                           where closed_at < $1 and resource_id is null limit ${BATCH} for update skip locked))
  returning 1`;

const EXPIRED = `
  select distinct resource_id from idempotency_keys
   where closed_at < $1 and resource_id > $2 order by resource_id limit ${BATCH}`;

const SWEEP_CLOSED = 'delete from idempotency_keys where closed_at < $1 and resource_id = any($2)';

/** Keeps the records of existing resources: they say under which key and in which scope each was created. */
async function sweepClosed(db: Executor, before: string): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined; ) {
    const rows = await db.query({ text: EXPIRED, values: [before, last] });
    const ids = rows.map((found) => String(found.resource_id));
    const present = await existing(db, ids);
    await db.query({ text: SWEEP_CLOSED, values: [before, ids.filter((id) => !present.has(id))] });
    last = ids.at(-1);
  }
}

/** Null if the key does not match: the request comes with another API key of the same owner. */
function unseal(sealed: Buffer, key: Buffer, resourceId: string): string | null {
  try {
    // Bound to the resource's id, so that records cannot be swapped.
    return decrypt(sealed, key, resourceId);
  } catch {
    return null;
  }
}
