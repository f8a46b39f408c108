/** Limits how many queries are answered per second and source, so that the server is of no use for floods. */
import ipaddr from 'ipaddr.js';

/** Networks that are counted at a time; beyond that many, new ones are not. */
const MOST_NETWORKS = 65_536;
const SECOND = 1_000;

/** Returns whether a query from the address is answered now. */
export function sourceLimit(perSecond: number, now: () => number = Date.now): (address: string) => boolean {
  let second = 0;
  const counts = new Map<string, number>();
  return (address) => {
    const current = Math.floor(now() / SECOND);
    if (current !== second) counts.clear();
    second = current;
    const network = networkOf(address);
    const count = (counts.get(network) ?? 0) + 1;
    if (count > 1 || counts.size < MOST_NETWORKS) counts.set(network, count);
    return count <= perSecond;
  };
}

/** What one sender may control: a /24 of IPv4, a /56 of IPv6, as is usual for DNS servers. */
export function networkOf(text: string): string {
  const plain = text.replace(/%.*$/, '');
  if (!ipaddr.isValid(plain)) return plain;
  const address = ipaddr.process(plain);
  return address
    .toByteArray()
    .slice(0, address.kind() === 'ipv4' ? 3 : 7)
    .join('.');
}
