/** IPv6 addresses (RFC 4291, section 2.2), without a zone. */
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

const DOTTED_END = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

/** The address; undefined if it is not one. */
export function parseIpv6(text: string): ipaddr.IPv6 | undefined {
  if (!isIPv6(text) || text.includes('%')) return undefined;
  // ipaddr.js reads `::192.0.2.1` as `::ffff:192.0.2.1`, which is another address.
  const plain = text.replace(DOTTED_END, (_, ...quads: string[]) => {
    const [a, b, c, d] = quads.slice(0, 4).map((quad) => Number(quad).toString(16).padStart(2, '0'));
    return `${a}${b}:${c}${d}`;
  });
  return ipaddr.IPv6.parse(plain);
}
