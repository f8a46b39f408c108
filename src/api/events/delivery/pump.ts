/**
 * Sends events to their destinations, in every process that runs it: fans out the queue, and works for each destination
 * whose lease it gets. What a dead process leaves behind, another one finds by polling.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createLeaseHolder, type HeldLease } from '../../leases/lease-holder.ts';
import type { Database } from '../../store/database.ts';
import { fanOut, isQueued } from '../queue/fan-out.ts';
import { destinationOf, dueDestinations, leaseOf } from '../queue/streams.ts';
import type { Courier } from '../wire/courier.ts';
import type { Destination } from '../wire/targets.ts';
import type { Attempted } from './attempt.ts';
import { serve, type WorkerOptions } from './destination-worker.ts';
import { healthOf } from './health.ts';

export interface PumpOptions {
  db: Database;
  courier: Courier;
  open: (id: string) => Promise<Destination | undefined>;
  pause: (destinationId: string, reason: string) => Promise<void>;
  /** Names this process in the table of leases. */
  holder: string;
  onError: WorkerOptions['onError'];
  /** Is told what became of attempts, once that is recorded. */
  observe?: ((results: readonly Attempted[]) => void) | undefined;
  pollMs?: number;
  leaseMs?: number;
  /** Deliveries at once, in all, beyond those that each destination may always have. */
  inFlight?: number;
  /** Destinations for which this process works at once. */
  places?: number;
  /** How long it works for one while others wait for a place. */
  turnMs?: number;
  /** How long a stop lets deliveries under way finish, before others take over. */
  drainMs?: number;
}

/** Also the time after which another process takes over from one that was killed. */
const LEASE_MS = 6_000;
const POLL_MS = 200;
/** Between two looks, however many changes there are. */
const PAUSE_MS = 20;
const IN_FLIGHT = 256;
/** Deliveries that each destination may have under way, however many others have. */
const GUARANTEED = 2;
const PLACES = 100;
const TURN_MS = 30_000;
/** Of a stop: for deliveries under way. */
export const DRAIN_MS = 5_000;

export interface Pump {
  /** Looks for events now: a change has been committed. */
  wake(): void;
  /** Lets deliveries under way finish for some seconds, then releases all leases: others take over at once. */
  stop(): Promise<void>;
}

export function startPump({
  db,
  courier,
  open,
  pause,
  holder,
  onError,
  observe = () => undefined,
  pollMs = POLL_MS,
  leaseMs = LEASE_MS,
  inFlight = IN_FLIGHT,
  places = PLACES,
  turnMs = TURN_MS,
  drainMs = DRAIN_MS,
}: PumpOptions): Pump {
  const leases = createLeaseHolder(db, { holder, ms: leaseMs, onError: (error) => onError(error, 'renew leases') });
  const stopping = new AbortController();
  const serving = new Map<string, Promise<void>>();
  let free = inFlight;
  const permits = {
    take(own: number) {
      const isGranted = free > 0 || own < GUARANTEED;
      if (isGranted) free--;
      return isGranted;
    },
    give: () => void free++,
  };
  let woken = Promise.withResolvers<void>();
  let isWoken = false;

  async function work(held: HeldLease): Promise<void> {
    const id = destinationOf(held.lease);
    const startedAt = performance.now();
    const isOver = () => stopping.signal.aborted || (serving.size >= places && performance.now() - startedAt > turnMs);
    try {
      await serve(held, {
        db,
        courier,
        permits,
        pollMs,
        onError,
        observe,
        open: async () => (isOver() ? undefined : open(id)),
        health: (destinationId) => healthOf(db, destinationId, { pause }),
      });
    } catch (error) {
      onError(error, 'deliver events', { destination: id });
    } finally {
      serving.delete(id);
      await held.release().catch((error: unknown) => onError(error, 'release a lease'));
    }
  }

  async function round(): Promise<void> {
    while ((await isQueued(db)) && (await fanOut(db)));
    const due = (await dueDestinations(db, places - serving.size)).filter((id) => !serving.has(id));
    for (const held of await leases.claim(due.map(leaseOf))) serving.set(destinationOf(held.lease), work(held));
  }

  const sleep = (ms: number) => delay(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      isWoken = false;
      woken = Promise.withResolvers();
      await round().catch((error: unknown) => onError(error, 'find events to deliver'));
      await Promise.race([sleep(pollMs), woken.promise]);
      // Under a load of changes, one look serves many of them.
      if (isWoken) await sleep(PAUSE_MS);
    }
  }
  const running = run();

  return {
    wake() {
      isWoken = true;
      woken.resolve();
    },
    async stop() {
      stopping.abort();
      await running;
      await Promise.race([Promise.all(serving.values()), delay(drainMs, undefined, { ref: false })]);
      await leases.stop();
      await Promise.all(serving.values());
    },
  };
}
