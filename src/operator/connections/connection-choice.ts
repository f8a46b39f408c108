/**
 * Which connection an object uses. It is chosen once, and recorded before anything is created through it: another key could
 * belong to another account, where the resource does not exist. Pure.
 */
import { z } from 'zod';
import { CONNECTION_KIND, DEFAULT_CONNECTION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { Blocked } from '../managed/declaration/external.ts';
import { connectionRef } from '../managed/declaration/spec.ts';
import { namesNoResource } from '../managed/identity/identity.ts';
import {
  annotatedConnection,
  type ConnectionName,
  OPERATORS_OWN,
  shownConnection,
  type UsedConnection,
  writeConnection,
} from '../managed/identity/recorded-connection.ts';
import { isDeleting } from '../managed/identity/recorded-status.ts';

/** What is known of the connections of one namespace. */
export interface KnownConnections {
  /** Whether there is such a connection, and the namespace may use it. */
  permits(connection: ConnectionName): boolean;
  /** Whether it is being deleted, and waits for those that use it. */
  isLeaving(connection: ConnectionName): boolean;
  /** The ClusterAPIConnections and Accounts that select the namespace. */
  selecting(): readonly ConnectionName[];
  /** The id of an Account; undefined before it has one, and for other connections. */
  accountOf(connection: ConnectionName): string | undefined;
  /** Why some connections may be unknown; undefined if none are. */
  gap(): string | undefined;
  /** Whether objects without any connection are refused, instead of using the operator's own API key. */
  isRequired: boolean;
}

/** The connection of an object for which something was begun; undefined if nothing was. The spec cannot be changed, the annotation can. */
export function usedConnection(object: KubeObject): UsedConnection | undefined {
  const shown = shownConnection(object);
  const annotated = annotatedConnection(object);
  return shown ?? (annotated && (namedIn(object) ?? annotated));
}

/** Whether what the namespace has decides, since nothing was begun and the spec names none. */
export const isByDefault = (object: KubeObject) =>
  usedConnection(object) === undefined && namedIn(object) === undefined;

/** @throws Blocked if there is none that the object may use */
export function chooseConnection(object: KubeObject, known: KnownConnections): UsedConnection {
  const shown = shownConnection(object);
  if (shown === OPERATORS_OWN) return shown;
  const annotated = annotatedConnection(object);
  const begun = annotated === OPERATORS_OWN ? undefined : annotated;
  const recorded = shown ?? completed(namedIn(object), begun);
  // Without an id in the annotations, which can be edited, this deletes only what was created under the UID of the object.
  const isOnlyBegun = recorded === undefined && annotated === OPERATORS_OWN && namesNoResource(object);
  if (isOnlyBegun && isDeleting(object)) return OPERATORS_OWN;
  const chosen = recorded ?? byDefault(object, known);
  if (chosen === OPERATORS_OWN) return chosen;
  const name = writeConnection(chosen);
  // Annotations can be edited, so they must not give anybody the rights of the operator's own key.
  if (recorded === undefined && annotated === OPERATORS_OWN) {
    const message = `a resource was begun for this object with the operator's own API key, as its annotations say, but its namespace has ${name} now: remove that until this object is Ready, or delete this object`;
    throw new Blocked(REASON.connectionNotFound, message);
  }
  if (known.permits(chosen)) {
    requireSameAccount(chosen, known);
    if (shown !== undefined || annotated !== undefined || !known.isLeaving(chosen)) return chosen;
    throw new Blocked(REASON.connectionNotReady, `${name} is being deleted`);
  }
  const gap = known.gap();
  if (gap !== undefined) throw new Blocked(REASON.connectionNotReady, `${name} is not known yet: ${gap}`);
  throw new Blocked(REASON.connectionNotFound, missing(object, chosen));
}

function byDefault({ metadata }: KubeObject, known: KnownConnections): UsedConnection {
  const own = { kind: CONNECTION_KIND.own, name: DEFAULT_CONNECTION };
  if (known.permits(own)) return own;
  const gap = known.gap();
  if (gap !== undefined)
    throw new Blocked(REASON.connectionNotReady, `whether there is a connection cannot be told: ${gap}`);
  const [shared, ...others] = known.selecting();
  if (shared !== undefined && others.length === 0) return shared;
  if (shared !== undefined) {
    const names = [shared, ...others].map(writeConnection).join(', ');
    const message = `several connections select namespace ${metadata.namespace} (${names}): name one in spec.connectionRef of a new object, or create an APIConnection ${DEFAULT_CONNECTION}`;
    throw new Blocked(REASON.connectionNotFound, message);
  }
  if (!known.isRequired) return OPERATORS_OWN;
  const message = `no connection to the management API: create an APIConnection ${DEFAULT_CONNECTION} in namespace ${metadata.namespace}, or have a ClusterAPIConnection or an Account select the namespace`;
  throw new Blocked(REASON.connectionNotFound, message);
}

/** The rest of the spec may be invalid. */
const naming = z.object({ connectionRef });
const namedIn = ({ spec = {} }: KubeObject) => naming.safeParse(spec).data?.connectionRef;

/** What the spec names, with what was recorded about it. */
function completed(named: ConnectionName | undefined, begun: ConnectionName | undefined): ConnectionName | undefined {
  if (!named || !begun) return named ?? begun;
  return writeConnection(named) === writeConnection(begun) ? begun : named;
}

/** An Account that was created anew has another id: nothing of the old one is there, and would be created again. */
function requireSameAccount(chosen: ConnectionName, known: KnownConnections): void {
  const account = known.accountOf(chosen);
  if (chosen.account === undefined || account === undefined || account === chosen.account) return;
  const message = `what was created for this object belongs to ${chosen.account}, but ${writeConnection(chosen)} is ${account} now: let an Account of that name adopt ${chosen.account}, or delete this object and remove its finalizer`;
  throw new Blocked(REASON.connectionNotFound, message);
}

function missing({ metadata }: KubeObject, { kind, name }: ConnectionName): string {
  if (kind === CONNECTION_KIND.own) return `APIConnection ${metadata.namespace}/${name} does not exist: create it`;
  return `no ${kind} ${name} selects namespace ${metadata.namespace}: have it created, or the namespace selected`;
}
