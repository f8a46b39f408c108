/** The connections to the management API, as the reconcile of an object sees them. */
import type { Client } from '../../../client/client.ts';
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { Blocked, type Finding } from '../declaration/external.ts';

export interface ObjectConnection {
  /** The same for all objects that share it: the name of the connection, with its namespace if it has one. */
  readonly key: string;
  /** What the object records; undefined with the operator's own API key. */
  readonly record: string | undefined;
  /** As messages name it; undefined with the operator's own API key. */
  readonly name?: string | undefined;
  /** Its calls fail while the connection cannot be used. */
  readonly client: Client;
  /** Why the object has no connection. No call is made then. */
  readonly problem?: Blocked | undefined;
  /** Whether a user of the cluster has chosen the API, whose answers must have no effect outside their namespace. */
  readonly isForeign?: boolean;
  /** Whether nobody has ever known whose key it has, and so nothing was created through it. */
  readonly isUntried?: boolean;
}

export interface ObjectConnections {
  /** The connection that the object uses, or would use if it were created now. */
  of(object: KubeObject): ObjectConnection;
  /**
   * Has all connections known that exist now and could be chosen, and the labels of the namespace, since watches may lag.
   * @throws KubeError, KubeUnreachableError
   */
  catchUp(object: KubeObject): Promise<void>;
  /** For objects that are connections themselves: those that use it, as messages name them. */
  using?(connection: KubeObject): readonly string[];
}

/** How many users a condition names. */
const MOST_NAMED = 5;

/** Why a connection cannot be deleted yet. */
export function inUse(users: readonly string[]): Blocked {
  const others = users.length > MOST_NAMED ? ` and ${users.length - MOST_NAMED} more` : '';
  const verb = users.length === 1 ? 'uses' : 'use';
  const named = `${users.slice(0, MOST_NAMED).join(', ')}${others}`;
  return new Blocked(REASON.deletionBlocked, `${named} ${verb} this connection, which is deleted once nothing does`);
}

/** For commands that use one API key for everything. */
export const oneConnection = (client: Client): ObjectConnections => {
  const connection = { key: '', record: undefined, client };
  return { of: () => connection, catchUp: async () => {} };
};

/** What the condition ConnectionResolved says; undefined with the operator's own API key. */
export function connectionFinding({ record }: ObjectConnection): Finding | undefined {
  if (record === undefined) return undefined;
  return { status: 'True', reason: REASON.resolved, message: `Uses ${record}` };
}
