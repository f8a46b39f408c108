/**
 * Read-only members that a client has read and sends back with its change (resources/definition/read-only.ts). They are
 * taken out of the body before it is parsed, and compared with the stored resource once that is locked.
 */
import type { z } from 'zod';
import { type ReadOnlyMembers, readOnlyAt, SET_BY_SERVICE } from '../../resources/definition/read-only.ts';
import { timeOf } from '../../resources/formats/text.ts';
import { type Details, invalidByRule, pointerTo } from '../errors/errors.ts';

/** A client that sends garbage gets at most this many reasons, so that the response cannot grow with the request. */
export const MAX_PROBLEMS = 50;

export interface SentBack {
  /** Path in the body: `uri`, or `sources`, 0, `uri` in an element of a list. */
  path: readonly PropertyKey[];
  /** Where it was sent, for example inside a member that stands for the list. */
  at: readonly PropertyKey[];
  value: unknown;
  /** Why a value other than the stored one is refused. */
  reason: string;
}

/** Separates the read-only members from the body. Drops empty ones that only the service sets. */
export function takeOut(
  body: object,
  issues: readonly z.core.$ZodIssue[],
  readOnly: ReadOnlyMembers,
): { rest: object; taken: Omit<SentBack, 'at'>[] } {
  const taken: Omit<SentBack, 'at'>[] = [];
  let rest = body;
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') continue;
    const holder = issue.path.reduce<unknown>(memberOf, body);
    const names = new Set<string>();
    for (const key of issue.keys) {
      const path = [...issue.path, key];
      const member = readOnlyAt(readOnly, path);
      if (!member) continue;
      names.add(key);
      const value = memberOf(holder, key);
      // Typed clients send every member, and leave empty those that only the service sets.
      if (member === SET_BY_SERVICE && isNone(value)) continue;
      taken.push({ path, value, reason: member.reason });
    }
    if (names.size > 0) rest = without(rest, issue.path, names);
  }
  return { rest, taken };
}

/** The body without these members of the object at `path`. All other members are shared, not copied. */
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

/** Reasons for the members that differ from what is stored. */
export function differing(sentBack: readonly SentBack[], isStored: (one: SentBack) => boolean): Details {
  const others = sentBack.filter((one) => !isStored(one)).slice(0, MAX_PROBLEMS);
  return Object.fromEntries(others.map(({ at, reason }) => [pointerTo(at), reason]));
}

/** Throws INVALID_REQUEST naming the members that differ from what is stored. */
export function refuseUnless(sentBack: readonly SentBack[], isStored: (one: SentBack) => boolean): void {
  const problems = differing(sentBack, isStored);
  if (Object.keys(problems).length > 0) throw invalidByRule(problems);
}

/**
 * The same for members that are at the same place in the view.
 * @param after the view with the elements of lists as they will be
 */
export function refuseUnlessShown(sentBack: readonly SentBack[], before: unknown, after = before): void {
  const isOfElement = insideElements(sentBack, before, after);
  refuseUnless(sentBack, (one) => {
    const [name, ...inner] = one.path;
    return inner.length > 0 ? isOfElement(one) : isSame(one.value, memberOf(before, name ?? ''), name);
  });
}

/**
 * Returns a check of members sent back inside a list element. Each member must equal what the element will show, or all
 * members together what one element shows now: the client may have changed the very member that tells elements apart.
 */
export function insideElements(sentBack: readonly SentBack[], before: unknown, after: unknown) {
  const elementOf = ({ path }: SentBack) => pointerTo(path.slice(0, -1));
  const inside = sentBack.filter(({ path }) => path.length > 1);
  const lists = new Map<PropertyKey, Map<unknown, unknown>>();
  const asRead = new Set<string>();
  for (const [element, members] of Map.groupBy(inside, elementOf)) {
    const list = members[0]?.path[0] ?? '';
    const stored = lists.get(list) ?? byName(memberOf(before, list));
    lists.set(list, stored);
    const named = members.find(({ path }) => NAMES.some((name) => name === path.at(-1)));
    const origin = stored.get(pathOf(named?.value));
    const isOf = ({ path, value }: SentBack) => {
      const name = path.at(-1) ?? '';
      return isNone(value) || isSame(value, memberOf(origin, name), name);
    };
    if (origin !== undefined && members.every(isOf)) asRead.add(element);
  }
  return (one: SentBack) => {
    const { path, value } = one;
    return isNone(value) || isSame(value, path.reduce(memberOf, after), path.at(-1)) || asRead.has(elementOf(one));
  };
}

/** Members that identify the element that a client has read. */
const NAMES = ['id', 'uri'] as const;

function byName(elements: unknown): Map<unknown, unknown> {
  const list: unknown[] = Array.isArray(elements) ? elements : [];
  return new Map(NAMES.flatMap((name) => list.map((element) => [pathOf(memberOf(element, name)), element] as const)));
}

/** What clients send for a member that they do not set. */
export const isNone = (sent: unknown) => sent === undefined || sent === null || sent === '';

/** What typed clients leave out of an object, for example because of Go's `omitempty`. */
const isEmpty = (shown: unknown) =>
  isNone(shown) || shown === false || shown === 0 || (Array.isArray(shown) && shown.length === 0);

/**
 * Whether a client has sent what is shown. Typed clients write values in their own way: they may send "" for null,
 * leave out empty values, and write times with other digits or another offset. A link has the host of the request that
 * read it, so only its path is compared.
 * @param name of the member with this value
 */
export function isSame(sent: unknown, shown: unknown, name?: PropertyKey): boolean {
  if (shown === null || shown === undefined) return isNone(sent);
  if (sent === undefined) return isEmpty(shown);
  if (typeof shown === 'string') {
    return sent === shown || isSameTime(sent, shown) || (name === 'uri' && pathOf(sent) === pathOf(shown));
  }
  if (typeof shown !== 'object') return sent === shown;
  if (sent === null || typeof sent !== 'object' || Array.isArray(sent) !== Array.isArray(shown)) return false;
  if (Array.isArray(sent) && Array.isArray(shown) && sent.length !== shown.length) return false;
  const names = new Set([...Object.keys(sent), ...Object.keys(shown)]);
  return [...names].every((inner) => isSame(memberOf(sent, inner), memberOf(shown, inner), inner));
}

/** The path of a link; any other value unchanged. */
const pathOf = (value: unknown) =>
  typeof value === 'string' ? (/^(?:https?:\/\/[^/?#]+)?(\/.*)$/.exec(value)?.[1] ?? value) : value;

function isSameTime(sent: unknown, shown: string): boolean {
  const time = timeOf(shown);
  return typeof sent === 'string' && time !== undefined && time === timeOf(sent);
}
