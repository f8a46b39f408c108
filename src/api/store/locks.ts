/**
 * The advisory locks that the API takes in PostgreSQL. Their numbers are arbitrary; they must differ, and must not change
 * from one release to the next, since both releases run during an upgrade.
 */
import type { Executor } from './database.ts';

export const LOCKS = {
  /** Processes that start at the same moment must not apply the same migration twice. Held by a session. */
  migration: 7_211_004_326,
  /** Two admins who demote each other at the same moment must not both succeed. */
  users: 7_211_004_327,
  /** Processes that start at the same moment must not each generate an API key. */
  bootstrap: 7_211_004_328,
  /** Of the processes that share a database, only one deletes old events and deliveries. */
  eventRetention: 7_211_004_329,
  /** Only one process at a time fans out events: each must find what the one before has made of earlier events. */
  eventFanOut: 7_211_004_330,
} as const;

/**
 * The first half of a two-part key whose second half is the hash of a hostport: edges that swap hostports take turns.
 * PostgreSQL keeps two-part keys apart from single ones.
 */
export const HOSTPORT_LOCKS = 1_211_004_328;

/**
 * The same for hashes of domain names: an edge must see the most specific domain that covers it, or the creation of
 * that domain must see the edge.
 */
export const COVERING_LOCKS = 1_211_004_329;

/**
 * The same for hashes of accounts: transactions that create something in an account share the lock, and its deletion takes it
 * alone. The trigger that takes it (migration 0033) also has locks of 1_211_004_331, by account and family with a quota.
 */
const ACCOUNT_LOCKS = 1_211_004_330;

/** Waits for transactions that create something in an account, and keeps others from it. */
export async function lockAccount(tx: Executor, id: string): Promise<void> {
  await tx.query({ text: 'select pg_advisory_xact_lock($1, hashtext($2))', values: [ACCOUNT_LOCKS, id] });
}

/** Waits for a lock, which the transaction then holds until it ends. */
export async function lockUntilCommit(
  tx: Executor,
  lock: (typeof LOCKS)['users' | 'bootstrap' | 'eventFanOut'],
): Promise<void> {
  await tx.query({ text: 'select pg_advisory_xact_lock($1)', values: [lock] });
}

/** Takes a lock until the transaction ends, unless another one has it. */
export async function tryLockUntilCommit(
  tx: Executor,
  lock: (typeof LOCKS)['eventRetention' | 'eventFanOut'],
): Promise<boolean> {
  const [row] = await tx.query({ text: 'select pg_try_advisory_xact_lock($1) as taken', values: [lock] });
  return row?.taken === true;
}
