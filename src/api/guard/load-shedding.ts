/**
 * Refuses requests while the process is overloaded, so that those it has accepted are answered. Why not
 * `@fastify/under-pressure`: docs/decisions/0009.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { FastifyInstance } from 'fastify';
import { overloaded } from '../errors/errors.ts';

export interface LoadLimits {
  /** Mean delay of the event loop over the last sample, in milliseconds; 0 for no limit. */
  eventLoopDelayMs: number;
  /** Resident memory of the process; 0 for no limit. */
  rssBytes: number;
  /** How often both are sampled. */
  sampleMs: number;
}

/**
 * A busy event loop that keeps up is some milliseconds late. The sample is long, so that a single turn of a second, as
 * at the start, does not outweigh the others.
 */
export const LOAD_LIMITS: LoadLimits = { eventLoopDelayMs: 1000, rssBytes: 0, sampleMs: 5000 };

/** How often the delay is measured, in milliseconds; the histogram includes this pause in the delay. */
const RESOLUTION_MS = 10;

/** The delay of the event loop, in nanoseconds. */
type Delay = Pick<ReturnType<typeof monitorEventLoopDelay>, 'mean' | 'enable' | 'disable' | 'reset'>;

/** Applies to the routes of this instance, not to probes: the kubelet would kill a process that is merely busy. */
export function shedLoad(
  app: FastifyInstance,
  { eventLoopDelayMs, rssBytes, sampleMs }: LoadLimits,
  delay: Delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS }),
): void {
  if (eventLoopDelayMs === 0 && rssBytes === 0) return;
  delay.enable();
  let isOverloaded = false;
  const timer = setInterval(() => {
    // The mean is not a number if the loop did not turn at all.
    const isLate = eventLoopDelayMs > 0 && !(delay.mean / 1e6 - RESOLUTION_MS <= eventLoopDelayMs);
    delay.reset();
    isOverloaded = isLate || (rssBytes > 0 && residentBytes() > rssBytes);
  }, sampleMs).unref();
  app.addHook('onClose', async () => {
    clearInterval(timer);
    delay.disable();
  });
  app.addHook('onRequest', (_request, _reply, done) => {
    done(isOverloaded ? overloaded('The service is overloaded; try again.') : undefined);
  });
}

/** 0 when the process has no descriptor left to read it (EMFILE). */
function residentBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return 0;
  }
}
