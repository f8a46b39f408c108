/** Principals of SSH host certificates: the names under which clients may know the host. */
import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import { z } from 'zod';
import { distinct } from './distinct.ts';
import { hostnameProblem, lowerCase } from './hostname.ts';
import { pattern, text } from './text.ts';

/** What OpenSSH reads at most (SSHKEY_CERT_MAX_PRINCIPALS). */
export const MAX_PRINCIPALS = 256;

export type PrincipalResult = { principal: string } | { reason: string };

/** What a pattern may consist of: host names and IPv4 addresses, or IPv6 addresses. */
const PATTERN = /^(?:[a-z0-9.*?-]{1,253}|[0-9a-f:.*?]{1,253})$/;

/**
 * The form in which ssh looks for a principal: host names in lower case, addresses in canonical form. Since OpenSSH 10.3,
 * `*` and `?` are wildcards, which also match dots; earlier clients compare them literally.
 */
export function canonicalPrincipal(input: string): PrincipalResult {
  const name = lowerCase(input);
  if (/[*?]/.test(name)) return patternOf(name);
  if (name.includes(':')) return addressOf(name);
  const problem = hostnameProblem(name);
  if (problem) return { reason: problem };
  // No top-level domain is a number (RFC 3696, section 2), so this was meant to be an address.
  if (/(^|\.)\d+$/.test(name) && !isIPv4(name)) {
    return { reason: `"${input.slice(0, 64)}" is neither a host name nor an IPv4 address` };
  }
  return { principal: name };
}

function patternOf(name: string): PrincipalResult {
  if (PATTERN.test(name)) return { principal: name };
  return {
    reason: `"${name.slice(0, 64)}" is not a pattern for host names or addresses: besides * and ?, it has letters, digits, hyphens and dots, or the digits and colons of an IPv6 address`,
  };
}

function addressOf(name: string): PrincipalResult {
  if (name.includes('%') || !isIPv6(name)) {
    return {
      reason: `"${name.slice(0, 64)}" must be a host name or an IP address, without a port and without brackets`,
    };
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
  .meta(
    pattern(
      /^[A-Za-z0-9.:*?-]+$/,
      'must be a host name or an IP address, as in host.example.com, or a pattern with * and ?',
    ),
  );

export const principals = distinct(
  z.array(principal).max(MAX_PRINCIPALS, `must have at most ${MAX_PRINCIPALS} principals`),
);
