/**
 * Read-only members of request bodies. Clients that read, change and write back send them as well: they are accepted if
 * they equal what is stored, and otherwise refused for these reasons.
 */
import { z } from 'zod';
import type { Field, Fields } from './resource.ts';

export interface ReadOnlyMember {
  /** Why another value is refused. */
  readonly reason: string;
  /** In a PUT: the writable member that this one sets when that is left out. */
  readonly standsFor?: StandIn;
}

export interface StandIn {
  readonly member: string;
  /** The value for that member; undefined if what was sent does not have the form that responses show. */
  read(sent: unknown): unknown;
}

type Named = Readonly<Record<string, ReadOnlyMember>>;

export interface ReadOnlyMembers {
  /** Of the body. */
  readonly members: Named;
  /** Of each element of a list in the body, by the name of the list. */
  readonly inside: Readonly<Record<string, Named>>;
}

export const NOTHING_READ_ONLY: ReadOnlyMembers = { members: {}, inside: {} };

export const SET_BY_SERVICE = { reason: 'is set by the service' };
const FIXED = { reason: 'cannot be changed' };
const SET_LATER = { reason: 'cannot be set on create; set it by PATCH' };
const shows = (name: string) => ({ reason: `shows ${name}; set that` });

/** For creates: nothing is stored yet, so only none is accepted. */
export function readOnlyInCreate(fields: Fields): ReadOnlyMembers {
  return collect(fields, (name, { onCreate, onUpdate }) => {
    const later = onUpdate ? SET_LATER : SET_BY_SERVICE;
    return onCreate === 'derived' ? { own: later, shown: later } : { own: undefined, shown: shows(name) };
  });
}

export function readOnlyInUpdate(fields: Fields): ReadOnlyMembers {
  return collect(fields, (name, { onCreate, onUpdate }) => {
    const fixed = onCreate === 'derived' ? SET_BY_SERVICE : FIXED;
    return onUpdate ? { own: undefined, shown: shows(name) } : { own: fixed, shown: fixed };
  });
}

type Reasons = { own: ReadOnlyMember | undefined; shown: ReadOnlyMember };

/** @param read why a field cannot be set: under its own name, if it cannot, and under its name in responses */
function collect(fields: Fields, read: (name: string, field: Field) => Reasons): ReadOnlyMembers {
  const members: Record<string, ReadOnlyMember> = {
    id: SET_BY_SERVICE,
    uri: SET_BY_SERVICE,
    created_at: SET_BY_SERVICE,
  };
  const inside: Record<string, Named> = {};
  for (const [name, field] of Object.entries(fields)) {
    const { own, shown } = read(name, field);
    if (own) members[name] = own;
    if (field.as !== undefined) members[field.as] = shown;
    if (field.setInside) inside[name] = setByService(field.setInside);
  }
  return { members, inside };
}

export const setByService = (names: readonly string[]): Named =>
  Object.fromEntries(names.map((name) => [name, SET_BY_SERVICE]));

const refs = z.union([z.object({ id: z.string() }), z.array(z.object({ id: z.string() }))]);

/** For the PUT of a module: responses show Refs, requests carry ids. */
export function readOnlyInModule(fields: Fields): ReadOnlyMembers {
  const shown = Object.entries(fields).flatMap(([name, { as }]) => {
    if (as === undefined) return [];
    const read = (sent: unknown) => {
      const { data } = refs.safeParse(sent);
      return Array.isArray(data) ? data.map(({ id }) => id) : data?.id;
    };
    return [[as, { ...shows(name), standsFor: { member: name, read } }] as const];
  });
  return { members: Object.fromEntries(shown), inside: {} };
}

/** A member of responses that shows the value of a writable one. */
export const showing = (member: string): ReadOnlyMember => ({
  ...shows(member),
  standsFor: { member, read: (sent) => sent },
});

/** The read-only member at this path in a body. */
export function readOnlyAt({ members, inside }: ReadOnlyMembers, path: readonly PropertyKey[]) {
  const [first, index, inner] = path;
  if (path.length === 1) return own(members, first);
  return path.length === 3 && typeof index === 'number' ? own(own(inside, first) ?? {}, inner) : undefined;
}

/** Own members only: a body may have a member `constructor`. */
function own<T>(record: Readonly<Record<string, T>>, name: PropertyKey | undefined): T | undefined {
  return typeof name === 'string' && Object.hasOwn(record, name) ? record[name] : undefined;
}
