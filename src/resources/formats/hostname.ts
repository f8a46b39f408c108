/** Host names in ASCII form: RFC 1123 labels, at most 253 characters, compared without regard to case. */
import { domainToASCII } from 'node:url';

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A host name of ASCII, as a part of a regular expression; without the limit on its length. */
export const HOST_LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
export const HOST = String.raw`${HOST_LABEL}(?:\.${HOST_LABEL})*`;

/** A last label that makes a name an IPv4 address to many parsers, as in 0x7f000001 and 127.1. */
export const NUMBER = '(?:0[Xx][0-9A-Fa-f]*|[0-9]+)';
const ENDS_IN_NUMBER = new RegExp(String.raw`(?:^|\.)${NUMBER}$`);
export const endsInNumber = (host: string) => ENDS_IN_NUMBER.test(host);

/** A port from 1 to 65535, as a part of a regular expression. */
export const PORT = String.raw`(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])`;

/** Lower-cases ASCII only, so that the Kelvin sign, for example, does not become a k. */
export const lowerCase = (host: string) => host.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** Undefined when `host` (lower case) is a valid name, else why it is not. */
export function hostnameProblem(host: string): string | undefined {
  if (host === '') return 'the host name is empty';
  if (host.length > 253) return `a host name has at most 253 characters, this one has ${host.length}`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII
  if (!/^[\x00-\x7f]*$/.test(host)) {
    const ascii = domainToASCII(host);
    return `write international names in ASCII${ascii ? ` ("${ascii}")` : ''}`;
  }
  const wrong = host.split('.').find((label) => !LABEL.test(label));
  if (wrong === undefined) return undefined;
  if (wrong === '') return 'the host name has an empty label (two dots in a row, or a dot at an end)';
  return `"${wrong.slice(0, 63)}" is not a host name label (letters, digits and inner hyphens, at most 63 characters)`;
}
