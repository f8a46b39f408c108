/**
 * Names of domains as people write them: with capitals, or in their own script (IDNA, UTS 46). Stored and compared in
 * ASCII and lower case.
 */
import { domainToASCII, domainToUnicode } from 'node:url';
import { endsInNumber, HOST_LABEL, hostnameProblem, NUMBER } from './hostname.ts';
import { pattern, refused } from './text.ts';

export type DomainResult = { domain: string } | { reason: string };

/** The canonical form of a domain, with or without a leading `*.`, or why it is not a domain. */
export function canonicalDomain(input: string): DomainResult {
  const wildcard = input.startsWith('*.');
  const host = wildcard ? input.slice(2) : input;
  if (host.includes('*')) return { reason: '"*" may appear only once, as the leftmost label, as in *.example.com' };
  const ascii = toAscii(host);
  if (ascii === undefined) return { reason: 'is not a valid internationalised domain name' };
  const problem = hostnameProblem(ascii);
  if (problem) return { reason: problem };
  const labels = ascii.split('.');
  if (endsInNumber(ascii)) return { reason: 'is an IP address, not a domain' };
  if (labels.length < 2) return { reason: 'must have at least two labels, as in example.com' };
  const domain = wildcard ? `*.${ascii}` : ascii;
  return domain.length > 253 ? { reason: 'has more than 253 characters' } : { domain };
}

/** Characters that no name has in any script. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among them
const FOREIGN = /[\x00-\x2c\x2f\x3a-\x40\x5b-\x60\x7b-\x7f\s]/;

/** Undefined when the name breaks the rules of IDNA. */
function toAscii(host: string): string | undefined {
  const lower = host.toLowerCase();
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII
  const isAscii = /^[\x00-\x7f]*$/.test(lower);
  // node:url parses it as a URL: the name would end at one of "/?#:" and begin after an "@".
  if (!isAscii) return FOREIGN.test(host) ? undefined : domainToASCII(host) || undefined;
  // ASCII names stay as they are: node:url would take some for addresses.
  const encoded = lower.split('.').filter((label) => label.startsWith('xn--'));
  return encoded.every(isEncoded) ? lower : undefined;
}

/** Whether an encoded label (`xn--`) is valid: decoding and encoding it gives the same. */
function isEncoded(label: string): boolean {
  const decoded = domainToUnicode(label);
  return decoded !== label && domainToASCII(decoded) === label;
}

/** A leading wildcard, as a part of a regular expression. */
export const WILDCARD = String.raw`(?:\*\.)?`;

/**
 * What the CRDs can check of a domain: all of a name in ASCII, little of others.
 * @param around what may stand before the domain and must follow it, as parts of a regular expression
 */
export function domainForm({ before = '', after = '' }: { before?: string; after?: string }, says: string) {
  const name = String.raw`${HOST_LABEL}(?:\.${HOST_LABEL})+`;
  return {
    ...pattern(new RegExp(String.raw`^${before}[^\s:*]+${after}$`), says),
    ...refused(
      {
        found: new RegExp(`^[!-~]*${after}$`),
        unless: new RegExp(`^${before}${name}${after}$`),
        says: `${after === '' ? 'must be' : 'must have'} a name of two or more labels, as in app.example.com: letters, digits and inner hyphens, with dots between the labels`,
      },
      {
        found: new RegExp(String.raw`\.${NUMBER}${after}$`),
        says: 'must not have an IP address in place of a domain',
      },
    ),
  };
}

/** Whether `host` is below `domain`. */
export const isBelow = (host: string, domain: string) => host.endsWith(`.${domain}`);

/** The reserved names that would cover a host, most specific first: itself, then the wildcards above it. */
export function coveringNames(host: string): string[] {
  const labels = (host.startsWith('*.') ? host.slice(2) : host).split('.');
  const above = labels.map((_, index) => labels.slice(index).join('.'));
  return [host, ...above.slice(1).map((name) => `*.${name}`)];
}
