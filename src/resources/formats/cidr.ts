/**
 * CIDR blocks in canonical form: RFC 4632 for IPv4, RFC 5952 for IPv6. A block of IPv4-mapped IPv6 addresses (RFC 4291,
 * section 2.5.5.2) is the IPv4 block: sockets show the same address in either form.
 */
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parseIpv6 } from './ipv6.ts';

export type CidrResult = { cidr: string } | { reason: string };

/**
 * The canonical form of a CIDR block, or why it is not one. A bare address means its single-address block.
 * Host bits must be zero: `10.0.0.1/8` is refused and the message names the block that was probably meant.
 */
export function canonicalCidr(input: string): CidrResult {
  const [address = '', prefix, ...rest] = input.split('/');
  if (rest.length > 0) return { reason: 'must be a CIDR block like 10.0.0.0/8 or 2001:db8::/32' };
  const parsed = parseAddress(address);
  if (!parsed)
    return { reason: `must be a CIDR block like 10.0.0.0/8 or 2001:db8::/32; "${clip(address)}" is not an IP address` };
  const width = parsed.kind() === 'ipv4' ? 32 : 128;
  if (prefix !== undefined && !/^(0|[1-9]\d{0,2})$/.test(prefix)) {
    return { reason: `prefix length must be a number from 0 to ${width}` };
  }
  const length = prefix === undefined ? width : Number(prefix);
  if (length > width) return { reason: `prefix length must be from 0 to ${width} for this address, but is ${length}` };
  const network = mask(parsed.toByteArray(), length);
  const canonical = canonicalForm(network, length);
  if (network.some((byte, index) => byte !== parsed.toByteArray()[index])) {
    return { reason: `has bits set beyond /${length}; did you mean ${canonical}?` };
  }
  return { cidr: canonical };
}

function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // ipaddr.js also reads octal and hexadecimal quads, which other parsers read as other addresses.
  return isIPv4(address) ? ipaddr.IPv4.parse(address) : parseIpv6(address);
}

function mask(bytes: number[], length: number): number[] {
  return bytes.map((byte, index) => {
    const bits = Math.max(0, Math.min(8, length - index * 8));
    return byte & (0xff << (8 - bits)) & 0xff;
  });
}

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const MAPPED_BITS = 8 * MAPPED.length;

function canonicalForm(network: number[], length: number): string {
  const isMapped = network.length === 16 && length >= MAPPED_BITS && MAPPED.every((byte, at) => network[at] === byte);
  return isMapped ? `${format(network.slice(MAPPED.length))}/${length - MAPPED_BITS}` : `${format(network)}/${length}`;
}

function format(bytes: number[]): string {
  const address = ipaddr.fromByteArray(bytes);
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

function clip(value: string): string {
  return value.length > 64 ? `${value.slice(0, 64)}…` : value;
}
