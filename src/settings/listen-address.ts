/** The address to listen on for all addresses of the machine. */
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** All addresses, including IPv4. */
export const EVERYWHERE = '::';

/** @returns the address to listen on for this host: 0.0.0.0 for `::` on a machine without IPv6, which refuses `::` */
export function listenAddress(
  host: string,
  interfaces: Record<string, readonly Pick<NetworkInterfaceInfo, 'family'>[] | undefined> = networkInterfaces(),
): string {
  if (host !== EVERYWHERE) return host;
  const hasIPv6 = Object.values(interfaces).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'));
  return hasIPv6 ? EVERYWHERE : '0.0.0.0';
}
