/** The verbs of a kind whose objects are resources of one family, field by field. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { CallOptions, ChangeOptions, CreateOptions, WriteOptions } from '../../client/call-options.ts';
import { type Client, etagOf, isReplay } from '../../client/client.ts';
import { isNotFound } from '../../client/errors.ts';
import { idOf } from '../../resources/definition/id.ts';
import { isShown } from '../../resources/definition/resource.ts';
import { user } from '../../resources/user.ts';
import { DigestedText } from '../managed/declaration/digest.ts';
import type { CreateScope, External, Remote, Sight } from '../managed/declaration/external.ts';
import { camelCase } from '../managed/declaration/spec-terms.ts';
import { type Family, type FamilyField, isDeclarable, isNullable } from './family-fields.ts';
import { inSnakeCase } from './spelling.ts';

export type Body = Record<string, unknown>;

/** The client's calls for one family. */
export interface FamilyCalls<R extends Remote> {
  create(body: Body, options?: CreateOptions): Promise<R>;
  get(id: string, options?: CallOptions): Promise<R>;
  update(id: string, body: Body, options?: ChangeOptions): Promise<R>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  /** @param ids those that matter: others may be left out */
  list(options?: CallOptions, ids?: ReadonlySet<string>): AsyncIterable<R>;
  /** The id that the other calls take, where it is not the resource's own. */
  idOf?(resource: { id: string; uri: string }): string;
  isId?(id: string): boolean;
}

export interface ExternalOptions<Spec, R> {
  /** Fields for which a new resource is made when they change. */
  replaced?: readonly string[];
  /** Names of the fields that the service sets by itself as long as spec and resource are like this. */
  setByService?: ((spec: Spec, remote: R) => readonly string[]) | undefined;
}

export function externalOfFamily<Spec extends object, R extends Remote>(
  { prefix, access }: Pick<Family, 'prefix' | 'access'>,
  fields: readonly FamilyField[],
  calls: FamilyCalls<R>,
  client: Pick<Client, 'idempotencyScope' | 'closeIdempotencyScope' | 'resourceManagers' | 'whoami'>,
  { replaced = [], setByService = () => [] }: ExternalOptions<Spec, R> = {},
): External<Spec, R> {
  const atCreate = fields.filter(({ field }) => field.onCreate !== 'derived');
  const later = fields.filter(({ field }) => field.onCreate === 'derived');
  const updatable = fields.filter(({ field }) => field.onUpdate);
  const immutable = fields.filter(({ field }) => !field.onUpdate);
  const replacing = immutable.filter(({ name }) => replaced.includes(name));
  const ours = (some: readonly FamilyField[], spec: Spec, remote: R) => {
    const theirs = setByService(spec, remote);
    return some.filter(({ name }) => !theirs.includes(name));
  };
  // Only at the revision that was compared, so that a late update does not undo a newer one.
  const update = async (remote: R, spec: Spec, options?: WriteOptions) => {
    const body = bodyOf(ours(updatable, spec, remote), spec);
    return tagged(await calls.update(remote.id, body, { ...options, ifMatch: remote.etag }));
  };
  const ids = idOf(prefix);
  return {
    idPrefix: `${prefix}_`,
    isId: calls.isId ?? ((id) => ids.safeParse(id).success),
    observe: (id) => ifExists(calls.get(id).then(tagged)),
    async create(spec, options) {
      const created = tagged(await calls.create(bodyOf(atCreate, spec), options));
      // A replay returns the resource of an earlier attempt, whose spec may have been different.
      if (created.isReplay || differing(later, spec, created).length === 0) return created;
      return { ...created, ...(await update(created, spec, { manager: options.manager })) };
    },
    changes: (spec, remote) => differing(ours(fields, spec, remote), spec, remote),
    immutableChanges: (spec, remote) => differing(immutable, spec, remote),
    replacingChanges: (spec, remote) => differing(replacing, spec, remote),
    update,
    delete: async (id, options) =>
      (await ifExists(calls.delete(id, options).then(() => 'deleted' as const))) ?? 'not found',
    claim: async (id, options) => void (await ifExists(client.resourceManagers.claim(ownId(id), options))),
    release: async (id, options) => void (await ifExists(client.resourceManagers.release(ownId(id), options))),
    sight: async () => (access === 'owner' ? sightOf(await ifExists(client.whoami())) : 'everything'),
    all: (ids) => calls.list({}, ids),
    scope: async (name) => scopeOf(await client.idempotencyScope(name), calls.idOf),
    closeScope: async (name) => scopeOf(await client.closeIdempotencyScope(name), calls.idOf),
  };
}

/** Without that of its parent. */
export const ownId = (id: string) => id.slice(id.lastIndexOf('/') + 1);

/** With the headers of the response. */
export function tagged<R extends Remote>(answered: R): R {
  return { ...answered, etag: etagOf(answered), isReplay: isReplay(answered) };
}

function scopeOf(
  answered: Awaited<ReturnType<Client['idempotencyScope']>>,
  idOf: FamilyCalls<Remote>['idOf'],
): CreateScope {
  const resources = answered.resources.map(({ id, uri, sequence }) => ({ id: idOf?.({ id, uri }) ?? id, sequence }));
  return { resources, nextSequence: answered.next_sequence };
}

/** @param caller undefined if the API is too old to say; then it has to be trusted */
function sightOf(caller: Awaited<ReturnType<Client['whoami']>> | undefined): 'everything' | Sight {
  if (!caller || caller.admin) return 'everything';
  return { ownerId: caller.owner.id, mayBeAdmin: caller.owner.type === user.name };
}

/** The result of the call; undefined if the API says that the resource does not exist. */
export async function ifExists<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The declared fields as a request body. */
export function bodyOf(fields: readonly FamilyField[], spec: object): Body {
  const declared = declaredValues(fields, spec);
  // Only a nullable field can be set to null.
  return Object.fromEntries(
    declared
      .filter(({ value, given }) => value !== null || isNullable(given))
      .map(({ value, given }) => [given.name, inSnakeCase(given.field.input, value)]),
  );
}

/** The members of the spec whose value in the resource differs. Members that no response shows count as equal. */
export function differing(fields: readonly FamilyField[], spec: object, remote: object): string[] {
  const observed = new Map<string, unknown>(Object.entries(remote));
  return declaredValues(fields, spec)
    .filter(({ given }) => isShown(given.field))
    .filter(({ given, value }) => {
      // Some responses leave out what is null.
      const shown = observed.get(given.shownAs) ?? null;
      return !isSame(given, value, given.field.refersTo ? idsIn(shown) : shown);
    })
    .map(({ given }) => given.member);
}

/** The desired values. A field that the spec omits has its initial value, or any value if it is immutable. */
function declaredValues(fields: readonly FamilyField[], spec: object) {
  const members = new Map<string, unknown>(Object.entries(spec));
  return fields.filter(isDeclarable).flatMap((given) => {
    const declared = members.get(given.member);
    if (declared === undefined && !given.field.onUpdate) return [];
    return [{ given, value: declared === undefined ? given.field.initial : declared }];
  });
}

function isSame({ field }: FamilyField, desired: unknown, observed: unknown): boolean {
  if (isDeepStrictEqual(desired, observed)) return true;
  // To the API server, a reordered set is unchanged, also where a change is refused.
  if (!field.onUpdate && isSameSet(desired, observed)) return true;
  const body = inSnakeCase(field.input, withTexts(desired, observed));
  // As the API would store it: normalised, with defaults.
  const stored = field.input.safeParse(body);
  if (!stored.success) return false;
  if (isDeepStrictEqual(stored.data, observed)) return true;
  // Some values, such as times, are shown in another form than they are stored.
  const shown = field.input.safeParse(observed);
  return shown.success && isDeepStrictEqual(stored.data, shown.data);
}

const isSameSet = (one: unknown, other: unknown) =>
  Array.isArray(one) && Array.isArray(other) && isDeepStrictEqual(one.toSorted(), other.toSorted());

/** A text that no source can have. */
const OTHER_TEXT = '\u0000';

/** The desired value, with each digest replaced by the observed text if that has the digest. */
function withTexts(desired: unknown, observed: unknown): unknown {
  if (desired instanceof DigestedText) return desired.isText(observed) ? observed : OTHER_TEXT;
  if (Array.isArray(desired) || typeof desired !== 'object' || desired === null) return desired;
  const members = new Map(
    Object.entries(observed ?? {}).flatMap(([name, value]): [string, unknown][] => [
      [camelCase(name), value],
      [name, value],
    ]),
  );
  return Object.fromEntries(
    Object.entries(desired).map(([name, value]) => [
      name,
      withTexts(value, members.get(name) ?? members.get(name.toLowerCase())),
    ]),
  );
}

/** The ids of a shown reference: none, one or many, each as a Ref or as it is. */
function idsIn(shown: unknown): unknown {
  if (Array.isArray(shown)) return shown.map(idsIn);
  return shownRef.safeParse(shown).data?.id ?? shown;
}

const shownRef = z.object({ id: z.string() });
