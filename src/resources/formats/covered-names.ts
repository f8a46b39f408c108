/** Which domains a server certificate is for, by its subject alternative names alone (RFC 6125, section 6.4). */

/**
 * Whether one of the names is the domain, or a wildcard one level above it. A wildcard domain needs the same wildcard.
 * @param domain in ASCII and lower case, as international names are in certificates
 */
export function isCovered(domain: string, names: readonly string[]): boolean {
  const wildcard = `*${domain.slice(domain.indexOf('.'))}`;
  return names.some((name) => [domain, wildcard].includes(name.toLowerCase()));
}

/** How many names of a certificate a message shows. */
const SHOWN = 5;
const MAX_NAME = 253;

/** What a certificate is for, as in `is for a.example.com and b.example.com, not for c.example.com`. */
export function notCovered(domain: string, names: readonly string[]): string {
  if (names.length === 0) return `has no host names in its subject alternative names, so it is not for ${domain}`;
  const shown = names.slice(0, SHOWN).map((name) => name.slice(0, MAX_NAME));
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return `is for ${shown.join(', ')}${more}, not for ${domain}`;
}
