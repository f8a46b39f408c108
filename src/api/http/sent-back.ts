/**
 * Members that a client has read and sends back with what it changes (resources/definition/read-only.ts). They are taken
 * out of the body before it is parsed, and held against what is stored where that is locked.
 */
import type { z } from 'zod';
import { type ReadOnlyMembers, readOnlyAt } from '../../resources/definition/read-only.ts';
import { timeOf } from '../../resources/formats/text.ts';
import { type Details, invalidRequest } from '../errors/errors.ts';
import { pointerTo } from './json-pointer.ts';

export interface SentBack {
  /** Of the body, or of an element of a list: `uri`; `sources`, 0, `uri`. */
  path: readonly PropertyKey[];
  value: unknown;
  /** Why another value than the stored one is refused. */
  reason: string;
}

/** The body without the unknown members that are read-only, and these. */
export function takeOut(
  body: object,
  issues: readonly z.core.$ZodIssue[],
  readOnly: ReadOnlyMembers,
): { rest: object; sentBack: SentBack[] } {
  const sentBack: SentBack[] = [];
  let rest = body;
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const holder = issue.path.reduce<unknown>(memberOf, body);
    const taken = new Set<string>();
    for (const key of issue.keys) {
      const path = [...issue.path, key];
      const reason = readOnlyAt(readOnly, path)?.reason;
      if (reason === undefined) continue;
      sentBack.push({ path, value: memberOf(holder, key), reason });
      taken.add(key);
    }
    if (taken.size > 0) rest = without(rest, issue.path, taken);
  }
  return { rest, sentBack };
}

/** The body without these members of the object at `path`; shares all others, of which there may be very many. */
function without(body: object, path: readonly PropertyKey[], names: ReadonlySet<string>): object {
  const [first, ...deeper] = path;
  if (first === undefined) return Object.fromEntries(Object.entries(body).filter(([name]) => !names.has(name)));
  const inner = memberOf(body, first);
  if (inner === null || typeof inner !== 'object') return body;
  const changed = without(inner, deeper, names);
  return Array.isArray(body) ? body.with(Number(first), changed) : { ...body, [first]: changed };
}

/** The member of an object or list; undefined where there is none. */
export function memberOf(holder: unknown, name: PropertyKey): unknown {
  return holder !== null && typeof holder === 'object' && Object.hasOwn(holder, name)
    ? Reflect.get(holder, name)
    : undefined;
}

/** The reasons of those that do not have the value that they must have. */
export function differing(sentBack: readonly SentBack[], isStored: (one: SentBack) => boolean): Details {
  const others = sentBack.filter((one) => !isStored(one));
  return Object.fromEntries(others.map(({ path, reason }) => [pointerTo(path), reason]));
}

/** Throws INVALID_REQUEST naming what does not have the value that it must have. */
export function refuseUnless(sentBack: readonly SentBack[], isStored: (one: SentBack) => boolean): void {
  const problems = differing(sentBack, isStored);
  if (Object.keys(problems).length > 0) throw invalidRequest(problems);
}

/** The same for members that stand at the same place in what is shown. */
export function refuseUnlessShown(sentBack: readonly SentBack[], shown: unknown): void {
  refuseUnless(sentBack, ({ path, value }) => isSame(value, path.reduce(memberOf, shown)));
}

/** What clients send for a member that they do not set. */
export const isNone = (sent: unknown) => sent === undefined || sent === null || sent === '';

/** What typed clients leave out of an object, Go's `omitempty` for one. */
const isEmpty = (shown: unknown) =>
  isNone(shown) || shown === false || shown === 0 || (Array.isArray(shown) && shown.length === 0);

/**
 * Whether a client has sent what is shown. Typed clients write it in their own way: null may be "", what is empty may be
 * missing, and a time may have another number of digits or another offset.
 */
export function isSame(sent: unknown, shown: unknown): boolean {
  if (shown === null || shown === undefined) return isNone(sent);
  if (sent === undefined) return isEmpty(shown);
  if (typeof shown === 'string') return sent === shown || isSameTime(sent, shown);
  if (typeof shown !== 'object') return sent === shown;
  if (sent === null || typeof sent !== 'object' || Array.isArray(sent) !== Array.isArray(shown)) return false;
  if (Array.isArray(sent) && Array.isArray(shown) && sent.length !== shown.length) return false;
  const names = new Set([...Object.keys(sent), ...Object.keys(shown)]);
  return [...names].every((name) => isSame(memberOf(sent, name), memberOf(shown, name)));
}

function isSameTime(sent: unknown, shown: string): boolean {
  const time = timeOf(shown);
  return typeof sent === 'string' && time !== undefined && time === timeOf(sent);
}
