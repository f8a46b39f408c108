/** Limits that follow from several settings at once. */
import { CannotStart } from '../settings/cannot-start.ts';
import { BadSettings } from '../settings/settings.ts';
import type { ConnectionLimits } from './http/connections.ts';
import { connectionCaps } from './http/descriptors.ts';
import { MOST_SETTLING_MS, type ShutdownTimes } from './http/shutdown.ts';
import type { ApiConfig } from './settings.ts';

export interface StopTimes extends Pick<ShutdownTimes, 'delayMs' | 'deadlineMs'> {
  /** Milliseconds after which a database or a receiver of traces that does not answer is left as it is. */
  closingMs: number;
}

/**
 * How the shutdown timeout is divided: when the requests under way take all they may, part of it is left for closing.
 * @throws BadSettings when the delay leaves no time for the rest
 */
export function stopTimes(config: Pick<ApiConfig, 'shutdownDelayMs' | 'shutdownTimeoutMs'>): StopTimes {
  const { shutdownDelayMs: delayMs, shutdownTimeoutMs } = config;
  const keptMs = Math.min(2_000, shutdownTimeoutMs / 5);
  const spareMs = keptMs + MOST_SETTLING_MS;
  if (delayMs > 0 && delayMs + spareMs > shutdownTimeoutMs)
    throw new BadSettings(`SHUTDOWN_DELAY must be shorter than SHUTDOWN_TIMEOUT, by ${spareMs / 1000}s`);
  return { delayMs, deadlineMs: shutdownTimeoutMs - keptMs, closingMs: keptMs / 2 };
}

/**
 * How many connections are taken, of all and of one address.
 * @param descriptors how many files this process may open
 * @param warn told when that allows fewer connections than MAX_CONNECTIONS
 * @throws CannotStart when it allows none
 */
export function connectionLimits(
  config: Pick<ApiConfig, 'maxConnections' | 'maxConnectionsPerAddress' | 'poolSize'>,
  descriptors: number,
  warn: (about: object, message: string) => void,
): Pick<ConnectionLimits, 'most' | 'surplus' | 'perAddress'> {
  const caps = connectionCaps(config.maxConnections, config.poolSize, descriptors);
  if (caps.most < 1)
    throw new CannotStart(
      `DATABASE_POOL_SIZE: with ${config.poolSize} connections to the database, the ${descriptors} files that this process may open (ulimit -n) leave none for clients`,
    );
  if (caps.most < config.maxConnections)
    warn(
      { max_connections: caps.most, configured: config.maxConnections, open_files: descriptors },
      'this process may open too few files for MAX_CONNECTIONS (ulimit -n); taking fewer connections',
    );
  return { ...caps, perAddress: config.maxConnectionsPerAddress ?? Math.ceil(caps.most / 2) };
}
