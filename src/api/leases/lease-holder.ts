/** The leases of this process: renewed while it lives, and given up when the database does not confirm them in time. */
import type { Executor } from '../store/database.ts';
import { claimLeases, type Lease, releaseLeases, renewLeases } from './leases.ts';

export interface HeldLease {
  readonly lease: Lease;
  /** Aborted when the lease is lost or released: another process may work on the job from then on. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

export interface LeaseHolderOptions {
  /** Who holds them, for people who look into the table. */
  holder: string;
  /** How long the leases of a process outlive it. */
  ms: number;
  onError?: ((error: unknown) => void) | undefined;
}

export interface LeaseHolder {
  /** Claims the jobs that nobody holds. */
  claim(names: readonly string[]): Promise<HeldLease[]>;
  /** Stops renewing, and releases what is still held. */
  stop(): Promise<void>;
}

interface Entry {
  readonly lease: Lease;
  readonly end: AbortController;
  /** By the clock of this process, and never later than by the clock of the database. */
  until: number;
}

export function createLeaseHolder(db: Executor, { holder, ms, onError }: LeaseHolderOptions): LeaseHolder {
  const held = new Map<string, Entry>();
  const drop = (entry: Entry) => {
    if (held.get(entry.lease.name) === entry) held.delete(entry.lease.name);
    entry.end.abort();
  };

  async function renew(): Promise<void> {
    const entries = [...held.values()];
    const until = performance.now() + ms;
    const kept = new Set<string>();
    const leases = entries.map(({ lease }) => lease);
    for (const { name } of await renewLeases(db, leases, ms)) kept.add(name);
    for (const entry of entries) {
      if (kept.has(entry.lease.name)) entry.until = until;
      else drop(entry);
    }
  }
  const tick = () => {
    for (const entry of [...held.values()]) if (entry.until < performance.now()) drop(entry);
    renewal = renewal.then(renew).catch((error: unknown) => onError?.(error));
  };
  let renewal = Promise.resolve();
  const timer = setInterval(tick, ms / 3);

  return {
    async claim(names) {
      const until = performance.now() + ms;
      const leases = await claimLeases(db, names, { holder, ms });
      return leases.map((lease) => {
        const entry = { lease, end: new AbortController(), until };
        held.set(lease.name, entry);
        const release = async () => {
          drop(entry);
          await releaseLeases(db, [lease]);
        };
        return { lease, lost: entry.end.signal, release };
      });
    },
    async stop() {
      clearInterval(timer);
      await renewal;
      const entries = [...held.values()];
      for (const entry of entries) drop(entry);
      const leases = entries.map(({ lease }) => lease);
      await releaseLeases(db, leases);
    },
  };
}
