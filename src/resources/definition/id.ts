/**
 * Resource ids are TypeIDs: a type prefix, an underscore and a UUIDv7 in 26 characters of Crockford base32.
 * They sort by creation time as plain strings, which is what keyset paging relies on.
 */
import { fromUUID, TypeID, typeid } from 'typeid-js';
import { z } from 'zod';

const SUFFIX = '[0-7][0-9a-hjkmnp-tv-z]{25}';

/** A new id with the given prefix, e.g. `ipp_01k9…`. */
export function newId(prefix: string): string {
  return typeid(prefix).toString();
}

/** When an id was made, in RFC 3339: the time that lists compare (`created_after`). */
export function timeOfId(id: string): string {
  const ms = TypeID.fromString(id).toUUID().replace('-', '').slice(0, 12);
  return new Date(Number.parseInt(ms, 16)).toISOString();
}

/** The smallest id of this moment: ids made earlier sort before it. For moments before 1970, the smallest id. */
export function firstIdAt(prefix: string, moment: Date): string {
  const ms = Math.max(0, moment.getTime()).toString(16).padStart(12, '0');
  // A UUIDv7 (RFC 9562, section 5.7) without its random bits.
  return fromUUID(`${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-000000000000`, prefix).toString();
}

/** The source of a regular expression for the ids of these families. */
export const idPattern = (...prefixes: string[]) => `(${prefixes.join('|')})_${SUFFIX}`;

/** Schema of the ids of these families; its message says what such an id looks like. */
export function idOf(...prefixes: string[]) {
  const pattern = new RegExp(`^${idPattern(...prefixes)}$`);
  const shape = prefixes.map((prefix) => `${prefix}_`).join(' or ');
  return z
    .string()
    .regex(pattern, `must be an id that starts with ${shape} followed by 26 characters`)
    .meta({ examples: [`${prefixes[0]}_01k9zq3v5hf8svx2r4c6y7n0wd`] });
}

/** Schema of `WHOLE/PART`: the id of a resource that lives in another, after the id of that one. */
export function idWithin(whole: string, part: string) {
  const shape = `${whole}_…/${part}_…`;
  return z.string().regex(new RegExp(`^${whole}_${SUFFIX}/${part}_${SUFFIX}$`), `must be ids of the form ${shape}`);
}
