/**
 * Delivers what is due at one destination while its lease is held: up to 16 deliveries at once, of different resources.
 * Results are written together, so that a quick receiver costs two statements for many deliveries.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { HeldLease } from '../../leases/lease-holder.ts';
import type { Database } from '../../store/database.ts';
import { destinationOf, dueHeads, type Head, settle } from '../queue/streams.ts';
import type { Courier } from '../wire/courier.ts';
import type { Destination } from '../wire/targets.ts';
import { type Attempted, attempt, notAttempted } from './attempt.ts';
import type { Health } from './health.ts';

/** Deliveries at once, for one destination. */
export const IN_FLIGHT = 16;
/** The same after a failure, so that a receiver that hangs does not take the permits of others. */
const IN_FLIGHT_WHILE_FAILING = 2;
/** Heads that are read ahead at most, so that no delivery waits for a statement. */
const AHEAD = 512;
/** A pause or another URL takes effect after this time at the latest. */
const DESTINATION_AGE_MS = 1_000;

export interface WorkerOptions {
  db: Database;
  courier: Courier;
  /** The destination as it is now, with its secrets; undefined if it is paused or gone. */
  open: (id: string) => Promise<Destination | undefined>;
  health: (destinationId: string) => Health;
  /** Permits for deliveries, shared by all destinations of the process. @param own deliveries under way for this one */
  permits: { take(own: number): boolean; give(): void };
  onError: (error: unknown, work: string, about?: Record<string, unknown>) => void;
  /** Is told what became of attempts, once that is recorded. */
  observe: (results: readonly Attempted[]) => void;
  /** How often to look for what has become due. */
  pollMs: number;
}

/** Returns when nothing is due any more, the lease is lost, or the destination is paused. */
export async function serve({ lease, lost }: HeldLease, options: WorkerOptions): Promise<void> {
  const { db, courier, permits, pollMs } = options;
  const id = destinationOf(lease);
  const health = options.health(id);
  /** Resources with a head that has been read and not been settled. */
  const busy = new Set<string>();
  const ready: Head[] = [];
  let results: Attempted[] = [];
  let settledSinceRead = 0;
  let inFlight = 0;
  let mostInFlight = IN_FLIGHT;
  let destination: Destination | undefined;
  let openedAt = Number.NEGATIVE_INFINITY;
  let progressed = Promise.withResolvers<void>();

  const start = (head: Head, to: Destination) => {
    inFlight++;
    attempt(head, { courier, destination: to, signal: lost })
      .then((result) => void results.push(result))
      .catch((error: unknown) => {
        // Aborted with the lease: the next holder repeats it.
        if (lost.aborted) return;
        options.onError(error, 'deliver an event', { delivery: head.id, destination: id });
        results.push(notAttempted(head));
      })
      .finally(() => {
        inFlight--;
        permits.give();
        startReady();
        progressed.resolve();
      });
  };
  const startReady = () => {
    while (destination && !lost.aborted && ready.length > 0 && inFlight < mostInFlight && permits.take(inFlight)) {
      const head = ready.shift();
      if (head) start(head, destination);
    }
  };
  const flush = async () => {
    const batch = results;
    results = [];
    if (batch.length === 0) return true;
    // A transaction is repeated after a deadlock: a fan-out may lock the same streams in another order.
    if (!(await db.transaction((tx) => settle(tx, lease, batch)))) return false;
    for (const { resourceId } of batch) busy.delete(resourceId);
    settledSinceRead += batch.length;
    mostInFlight = batch.at(-1)?.state === 'pending' ? IN_FLIGHT_WHILE_FAILING : IN_FLIGHT;
    // An empty stream only had a wrong count; it is not a delivery.
    options.observe(batch.filter((result) => result.id !== null));
    if (await health.note(batch)) destination = undefined;
    return true;
  };

  try {
    while (!lost.aborted && (await flush())) {
      if (performance.now() - openedAt > DESTINATION_AGE_MS) {
        destination = await options.open(id);
        openedAt = performance.now();
      }
      // By the pace of the receiver: events that wait for a slow one must not fill the memory.
      const ahead = Math.min(AHEAD, IN_FLIGHT + 2 * settledSinceRead);
      if (!destination) ready.length = 0;
      else if (ready.length < ahead / 2) {
        const found = await dueHeads(db, id, { limit: ahead - ready.length, except: [...busy] });
        for (const { resourceId } of found) busy.add(resourceId);
        ready.push(...found);
        settledSinceRead = 0;
      }
      startReady();
      if (inFlight === 0 && results.length === 0 && ready.length === 0) return;
      if (results.length > 0) continue;
      progressed = Promise.withResolvers();
      const poll = new AbortController();
      const woken = delay(pollMs, undefined, { signal: poll.signal }).catch(() => undefined);
      await Promise.race([progressed.promise, woken]);
      poll.abort();
    }
  } finally {
    await health.flush();
  }
}
