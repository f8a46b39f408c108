/** Goes on with the deletions of accounts that are due. Every process of the API runs it; when one dies, others take over. */
import { setTimeout as delay } from 'node:timers/promises';
import { backoff } from '../../retry/backoff.ts';
import { createLeaseHolder, type HeldLease } from '../leases/lease-holder.ts';
import type { Database } from '../store/database.ts';
import { accountOfLease, deleteAccount, dueDeletions, Interrupted, leaseOf, recordFailure } from './deletion.ts';

export interface DeletionRunnerOptions {
  db: Database;
  /** Prefix of links in the event of a deletion. */
  eventBase: string;
  /** Names this process in the table of leases. */
  holder: string;
  onError: (error: unknown, work: string, about?: Record<string, unknown>) => void;
  /** Is told of accounts that are gone. */
  onDeleted?: (account: string) => void;
}

/** Also the time after which another process takes over from one that was killed. */
const LEASE_MS = 6_000;
const POLL_MS = 1_000;
/** Accounts at once. */
const PLACES = 4;
const RETRY = { firstMs: 1_000, longestMs: 60_000 };

export interface DeletionRunner {
  /** Lets the transactions under way end, then releases all leases. */
  stop(): Promise<void>;
}

export function startDeletionRunner(options: DeletionRunnerOptions): DeletionRunner {
  const { db, eventBase, holder, onError, onDeleted = () => undefined } = options;
  const leases = createLeaseHolder(db, { holder, ms: LEASE_MS, onError: (error) => onError(error, 'renew leases') });
  const stopping = new AbortController();
  const working = new Map<string, Promise<void>>();

  async function work({ lease, lost, release }: HeldLease): Promise<void> {
    const account = accountOfLease(lease);
    const signal = AbortSignal.any([lost, stopping.signal]);
    try {
      await deleteAccount(db, lease, { eventBase, signal });
      onDeleted(account);
    } catch (error) {
      if (!(error instanceof Interrupted)) await failed(error, account, lease);
    } finally {
      working.delete(account);
      await release().catch((error: unknown) => onError(error, 'release a lease'));
    }
  }

  async function failed(error: unknown, account: string, lease: HeldLease['lease']): Promise<void> {
    const message = error instanceof Error ? error.message : String(error);
    onError(error, 'delete an account', { account });
    await recordFailure(db, lease, account, message, (failures) => backoff(failures, RETRY)).catch((failure: unknown) =>
      onError(failure, 'record that an account could not be deleted', { account }),
    );
  }

  async function round(): Promise<void> {
    const due = await dueDeletions(db, PLACES - working.size);
    const free = due.filter((account) => !working.has(account));
    for (const held of await leases.claim(free.map(leaseOf))) working.set(accountOfLease(held.lease), work(held));
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (working.size < PLACES) await round().catch((error: unknown) => onError(error, 'find accounts to delete'));
      await delay(POLL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }
  const running = run();

  return {
    async stop() {
      stopping.abort();
      await running;
      await Promise.all(working.values());
      await leases.stop();
    },
  };
}
