/** Refuses requests while the process is overloaded, so that those it has accepted are answered. */
import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { unavailable } from '../errors/errors.ts';

export interface LoadLimits {
  /** Mean delay of the event loop over the last sample, in milliseconds; 0 for no limit. */
  eventLoopDelayMs: number;
  /** Resident memory of the process; 0 for no limit. */
  rssBytes: number;
  /** How often both are sampled. */
  sampleMs: number;
}

/**
 * An event loop that is this late answers nobody in time; a busy one that keeps up is some milliseconds late. The sample
 * is long, so that one turn that took a second (at the start, say) does not outweigh the others.
 */
export const LOAD_LIMITS: LoadLimits = { eventLoopDelayMs: 1000, rssBytes: 0, sampleMs: 5000 };

/** Applies to the routes of this instance, not to probes and metrics: the kubelet would kill a process that is merely busy. */
export async function shedLoad(app: FastifyInstance, limits: LoadLimits): Promise<void> {
  await app.register(underPressure, {
    maxEventLoopDelay: limits.eventLoopDelayMs,
    maxRssBytes: limits.rssBytes,
    sampleInterval: limits.sampleMs,
    pressureHandler: async (request) => {
      request.documentedPath = request.routeOptions.config.documentedPath ?? request.documentedPath;
      throw unavailable('The service is overloaded; try again.');
    },
  });
}
