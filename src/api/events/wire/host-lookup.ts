/**
 * Looks up the addresses of hosts. Node.js runs few lookups at once, so names whose servers do not answer could keep all
 * other names waiting.
 */
import { lookup } from 'node:dns/promises';

export interface HostAddress {
  address: string;
  family: number;
}

export type ResolveHost = (hostname: string) => Promise<readonly HostAddress[]>;

/** A failure stands for nine times as long as it took: a host keeps a thread busy for at most a tenth of the time. */
const FAILURE_STANDS = 9;

const bySystem: ResolveHost = (hostname) => lookup(hostname, { all: true });

/** Looks up each host once at a time, for all who ask meanwhile. */
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
