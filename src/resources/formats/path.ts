/** Paths of requests (RFC 3986, section 3.3), in their normal form: two spellings of one path are equal. */
import { bytes, pattern, refusing } from './text.ts';

const PATH = /^\/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$/;
const FORM = 'must be a path that starts with "/", without a query, with other characters percent-encoded';

const UNRESERVED = /[A-Za-z0-9._~-]/;

/** Section 6.2.2: encoded only where it must be, in upper case. */
export function normalPath(path: string): string {
  return path.replaceAll(/%[0-9A-Fa-f]{2}/g, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return UNRESERVED.test(character) ? character : encoded.toUpperCase();
  });
}

/** A path as requests carry it; parsed to its normal form. */
export const requestPath = refusing(
  bytes(1024).refine((text) => PATH.test(text), FORM),
  {
    // A dot is an unreserved character, so its encoded form is the same (section 2.3).
    found: /\/(?:\.|%2[Ee]){1,2}(?:\/|$)/,
    says: 'must not contain "." or ".." segments, even as %2e: no request arrives with them',
  },
  {
    found: /\/\//,
    says: 'must not contain "//": many servers and proxies take it for one slash',
  },
)
  .transform(normalPath)
  .meta(pattern(PATH, `${FORM}, as in /api/v1`));

/** A wildcard as other products write it, after a prefix. */
export const WILDCARD = /\/\*{1,2}(?:\/|$)|\*$/;

/** Why the path cannot be a prefix, if so. */
export function prefixProblem(prefix: string): string | undefined {
  const at = prefix.search(WILDCARD);
  if (at === -1) return undefined;
  const meant = prefix.slice(0, prefix[at] === '/' ? at + 1 : at);
  return `must not have a wildcard: a prefix needs none, so write "${meant}"`;
}
