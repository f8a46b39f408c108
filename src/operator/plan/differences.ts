/** What differs between two specs, member by member. Pure. */
import { isDeepStrictEqual } from 'node:util';

export interface Difference {
  /** As a user writes it: `spec.rules[192.0.2.0/24].action`. */
  readonly path: string;
  /** Undefined: there is none. */
  readonly before: unknown;
  readonly after: unknown;
}

/** @param listKeys the member that identifies the elements of a list, by the path of the list */
export function differences(
  path: string,
  before: unknown,
  after: unknown,
  listKeys: Readonly<Record<string, string>> = {},
): Difference[] {
  if (isDeepStrictEqual(before, after)) return [];
  const [old, now] = [membersOf(before, listKeys[path]), membersOf(after, listKeys[path])];
  // An empty value has no members to show.
  if (!old || !now || (old.size === 0 && now.size === 0)) return [{ path, before, after }];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((key) =>
    differences(`${path}${key}`, old.get(key), now.get(key), listKeys),
  );
}

/** The members by the last step of their paths; undefined for a value that is compared as a whole. */
function membersOf(value: unknown, listKey: string | undefined): Map<string, unknown> | undefined {
  if (value === undefined) return new Map();
  if (Array.isArray(value)) {
    if (listKey === undefined) return undefined;
    return new Map(value.map((each) => [`[${new Map(Object.entries(each)).get(listKey)}]`, each]));
  }
  const isRecord = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isRecord ? new Map(Object.entries(value).map(([name, member]) => [`.${name}`, member])) : undefined;
}
