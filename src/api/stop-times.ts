/** How a stop divides its time. */
import { setTimeout as delay } from 'node:timers/promises';
import { BadSettings } from '../settings/settings.ts';
import { SHUTDOWN, type ShutdownTimes } from './guard/shutdown.ts';
import type { ApiConfig } from './settings.ts';

export interface StopTimes extends Pick<ShutdownTimes, 'delayMs' | 'deadlineMs'> {
  /** Milliseconds for which to wait for a database or a receiver of traces that does not respond. */
  closingMs: number;
}

/**
 * Divides the shutdown timeout: part of it is left for closing the database, even if the requests under way take the rest.
 * @throws BadSettings when the delay leaves no time for the rest
 */
export function stopTimes(config: Pick<ApiConfig, 'shutdownDelayMs' | 'shutdownTimeoutMs'>): StopTimes {
  const { shutdownDelayMs: delayMs, shutdownTimeoutMs } = config;
  const keptMs = Math.min(2_000, shutdownTimeoutMs / 5);
  const spareMs = keptMs + SHUTDOWN.quietMs;
  if (delayMs > 0 && delayMs + spareMs > shutdownTimeoutMs)
    throw new BadSettings(`SHUTDOWN_DELAY must be shorter than SHUTDOWN_TIMEOUT, by ${spareMs / 1000}s`);
  return { delayMs, deadlineMs: shutdownTimeoutMs - keptMs, closingMs: keptMs / 2 };
}

/** Waits for the work, but not longer than this. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work, delay(ms, undefined, { ref: false })]);
}
