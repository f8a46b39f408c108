/** Periodically deletes expired idempotency keys, replaced signing secrets, old events and their deliveries. */
import type { FastifyBaseLogger } from 'fastify';
import { sweep } from './crud/idempotency.ts';
import { pruneDeliveries, pruneDestinations } from './events/queue/delivery-retention.ts';
import { deleteEndedSecrets } from './families/event-signing-secret.ts';
import { dropEndedLeases } from './leases/leases.ts';
import type { Database } from './store/database.ts';
import { pruneEvents } from './store/event-retention.ts';
import { countPrunedEvents } from './telemetry/metrics.ts';

const EVERY_MS = 10 * 60 * 1000;

export interface HousekeepingOptions {
  eventRetentionMs: number;
  eventDeliveryRetentionMs: number;
  logger: FastifyBaseLogger | undefined;
  /** Stops the housekeeping. */
  signal: AbortSignal;
}

/** Returns a function that waits for the round under way. */
export function startHousekeeping(
  db: Database,
  { eventRetentionMs, eventDeliveryRetentionMs, logger, signal }: HousekeepingOptions,
): () => Promise<void> {
  async function prune(): Promise<void> {
    const deleted = await pruneEvents(db, { keptMs: eventRetentionMs, signal });
    if (deleted === 0) return;
    countPrunedEvents(deleted);
    logger?.info({ deleted }, 'deleted events past their retention');
  }
  async function pruneSent(): Promise<void> {
    const old = await pruneDeliveries(db, { keptMs: eventDeliveryRetentionMs, signal });
    const deleted = old + (await pruneDestinations(db, { signal }));
    if (deleted > 0) logger?.info({ deleted }, 'deleted event deliveries past their retention');
  }
  const attempt = (work: Promise<void>, what: string) =>
    work.catch((error) => logger?.warn({ err: error }, `could not delete ${what}`));
  async function clean(): Promise<void> {
    await attempt(sweep(db), 'expired idempotency keys');
    await attempt(prune(), 'old events');
    await attempt(pruneSent(), 'old event deliveries');
    await attempt(deleteEndedSecrets(db), 'replaced signing secrets');
    await attempt(dropEndedLeases(db), 'ended leases');
  }

  let current = clean();
  const timer = setInterval(() => {
    // Rounds do not overlap, even if one takes longer than the interval.
    current = current.then(clean);
  }, EVERY_MS).unref();
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  return () => current;
}
