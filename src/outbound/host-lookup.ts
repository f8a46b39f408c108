/**
 * Looks up the addresses of hosts. Node.js runs only a few lookups at a time, so names whose servers do not answer could
 * hold up all others.
 */
import { lookup } from 'node:dns/promises';

export interface HostAddress {
  address: string;
  family: number;
}

export type ResolveHost = (hostname: string) => Promise<readonly HostAddress[]>;

/** A failure is remembered for nine times as long as it took, so one host uses a thread for a tenth of the time at most. */
const FAILURE_STANDS = 9;

const bySystem: ResolveHost = (hostname) => lookup(hostname, { all: true });

/** Concurrent lookups of one host share a single query. */
export function hostLookup(resolve: ResolveHost = bySystem): ResolveHost {
  const known = new Map<string, ReturnType<ResolveHost>>();
  return (hostname) => {
    const others = known.get(hostname);
    if (others) return others;
    const started = performance.now();
    const forget = () => known.delete(hostname);
    const found = resolve(hostname);
    known.set(hostname, found);
    found.then(forget, () => setTimeout(forget, FAILURE_STANDS * (performance.now() - started)).unref());
    return found;
  };
}
