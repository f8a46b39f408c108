/** How many descriptors (sockets and open files) this process may have, and how many connections that allows. */
import { z } from 'zod';

/** Where the system does not tell: what most give a process at least. */
const USUAL = 1024;

const report = z.object({ userLimits: z.object({ open_files: z.object({ soft: z.number() }) }) });

/** Node has no getrlimit; its diagnostic report has the answer. It raises the soft limit to the hard one by itself. */
export function descriptorLimit(): number {
  // Else it would look up the names of all peers.
  Object.assign(process.report, { excludeNetwork: true });
  const { data } = report.safeParse(process.report.getReport());
  return data?.userLimits.open_files.soft ?? USUAL;
}

/** For Node itself (some 30), the connections of METRICS_PORT (16), the log, and the files that are read now and then. */
const RESERVE = 64;

/** Most connections that are accepted only to be told that there are too many. */
const MOST_SURPLUS = 64;

export interface ConnectionCaps {
  /** Connections that are served. */
  most: number;
  /** Connections beyond those which get a 503 before any more are closed unanswered. */
  surplus: number;
}

/**
 * At most `wanted` connections, and fewer if descriptors are short: all others must find one when they need it.
 * @param pool connections to the database
 */
export function connectionCaps(wanted: number, pool: number, descriptors: number): ConnectionCaps {
  const room = Math.max(0, descriptors - RESERVE - pool);
  const surplus = Math.min(MOST_SURPLUS, Math.ceil(room / 8));
  return { most: Math.min(wanted, room - surplus), surplus };
}
