/** The verbs of a kind whose objects are resources of one family, field by field. */
import { isDeepStrictEqual } from 'node:util';
import type { CallOptions, ChangeOptions, CreateOptions } from '../../client/call-options.ts';
import { type Client, etagOf, isReplay, sentAt } from '../../client/client.ts';
import { isNotFound } from '../../client/errors.ts';
import type { Resource } from '../../resources/definition/resource.ts';
import { user } from '../../resources/user.ts';
import type { CreateScope, External, Remote, Sight } from '../managed/external.ts';
import { type FamilyField, isDeclarable, isNullable } from './family-fields.ts';

type Body = Record<string, unknown>;

/** The client's calls for one family. */
export interface FamilyCalls<R extends Remote> {
  create(body: Body, options?: CreateOptions): Promise<R>;
  get(id: string, options?: CallOptions): Promise<R>;
  update(id: string, body: Body, options?: ChangeOptions): Promise<R>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  list(options?: CallOptions): AsyncIterable<R>;
}

export function externalOfFamily<Spec extends object, R extends Remote>(
  fields: readonly FamilyField[],
  calls: FamilyCalls<R>,
  access: Resource['access'],
  client: Pick<Client, 'idempotencyScope' | 'closeIdempotencyScope' | 'whoami'>,
): External<Spec, R> {
  const updatable = fields.filter(({ field }) => field.onUpdate);
  const immutable = fields.filter(({ field }) => !field.onUpdate);
  return {
    observe: (id) => ifExists(calls.get(id).then(tagged)),
    create: async (spec, idempotency) => tagged(await calls.create(bodyOf(fields, spec), idempotency)),
    changes: (spec, remote) => differing(fields, spec, remote),
    immutableChanges: (spec, remote) => differing(immutable, spec, remote),
    // Only at the revision that was compared: an update that arrives late must not undo a newer one.
    update: async (remote, spec) =>
      tagged(await calls.update(remote.id, bodyOf(updatable, spec), { ifMatch: remote.etag })),
    delete: async (id) => (await ifExists(calls.delete(id).then(() => 'deleted' as const))) ?? 'not found',
    sight: async () => (access === 'owner' ? sightOf(await ifExists(client.whoami())) : 'everything'),
    all: () => calls.list(),
    scope: async (name) => scopeOf(await client.idempotencyScope(name)),
    closeScope: async (name) => scopeOf(await client.closeIdempotencyScope(name)),
  };
}

/** With what the answer said beside its body. */
function tagged<R extends Remote>(answered: R): R {
  return { ...answered, etag: etagOf(answered), isReplay: isReplay(answered), answeredAt: sentAt(answered) };
}

function scopeOf(answered: Awaited<ReturnType<Client['idempotencyScope']>>): CreateScope {
  return { resources: answered.resources, nextSequence: answered.next_sequence };
}

/** @param caller undefined if the API is too old to tell: then it must be believed */
function sightOf(caller: Awaited<ReturnType<Client['whoami']>> | undefined): 'everything' | Sight {
  if (!caller || caller.admin) return 'everything';
  return { ownerId: caller.owner.id, mayBeAdmin: caller.owner.type === user.name };
}

/** The result of the call, or undefined if the API says that there is no such thing. */
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
      .map(({ value, given }) => [given.name, value]),
  );
}

/** The members of the spec whose value in the resource differs. */
export function differing(fields: readonly FamilyField[], spec: object, remote: object): string[] {
  const observed = new Map<string, unknown>(Object.entries(remote));
  return declaredValues(fields, spec)
    .filter(({ given, value }) => !isDeepStrictEqual(value, observed.get(given.shownAs)))
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
