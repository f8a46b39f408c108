/** Principals of SSH host certificates: the names under which clients may know the host. */
import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { z } from 'zod';
import { distinct } from './distinct.ts';
import { hostnameProblem, lowerCase } from './hostname.ts';
import { pattern, text } from './text.ts';

/** What OpenSSH reads at most (SSHKEY_CERT_MAX_PRINCIPALS). */
export const MAX_PRINCIPALS = 256;

export type PrincipalResult = { principal: string } | { reason: string };

/**
 * The form in which ssh looks for a principal: host names in lower case, addresses in canonical form. No wildcards:
 * OpenSSH compares the principals of host certificates literally, so a wildcard would match nothing.
 */
export function canonicalPrincipal(input: string): PrincipalResult {
  const name = lowerCase(input);
  if (name.includes(':')) return addressOf(name);
  if (name.includes('*')) {
    return {
      reason: 'SSH clients do not support wildcards in host certificates; list every name, or none for any host',
    };
  }
  const problem = hostnameProblem(name);
  if (problem) return { reason: problem };
  // No top-level domain is a number (RFC 3696, section 2), so this was meant to be an address.
  if (/(^|\.)\d+$/.test(name) && !isIPv4(name)) {
    return { reason: `"${input.slice(0, 64)}" is neither a host name nor an IPv4 address` };
  }
  return { principal: name };
}

function addressOf(name: string): PrincipalResult {
  if (name.includes('%') || !isIPv6(name)) {
    return { reason: `"${name.slice(0, 64)}" is not an IPv6 address; principals have no port and no brackets` };
  }
  // ssh compares the form that getnameinfo prints: `::ffff:192.0.2.1`, with dots, where RFC 5952 leaves the choice.
  return { principal: new SocketAddress({ address: name, family: 'ipv6' }).address };
}

const principal = text()
  .max(255, 'must be at most 255 characters')
  .transform((input, context) => {
    const result = canonicalPrincipal(input);
    if ('principal' in result) return result.principal;
    context.addIssue({ code: 'custom', message: result.reason, input });
    return z.NEVER;
  })
  .meta(pattern(/^[A-Za-z0-9.:-]+$/, 'must be a host name or an IP address, as in host.example.com'));

export const principals = distinct(
  z.array(principal).max(MAX_PRINCIPALS, `must have at most ${MAX_PRINCIPALS} principals`),
);
