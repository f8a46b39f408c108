/** What a kind implements: the verbs on the management API behind the one reconcile loop. */
import type { ClaimOptions, CreateOptions, WriteOptions } from '../../../client/call-options.ts';
import { REASON, type Reason } from '../../contract/reasons.ts';
import type { Finding as AnyFinding } from '../../kube/conditions.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { Handout } from './handout.ts';

/** What a reconcile found out about one condition. */
export type Finding = AnyFinding<Reason>;

export interface Remote {
  id: string;
  uri: string;
  /** The revision that was observed: an update is refused if the resource has changed since. */
  etag?: string | undefined;
  /** Whether this is a replayed response to an earlier create, which may be out of date. */
  isReplay?: boolean;
}

/** False only if the resource certainly does not exist. */
export async function mayExist({ observe, sight }: Pick<External<never, Remote>, 'observe' | 'sight'>, id: string) {
  return (await observe(id)) !== undefined || (await sight()) !== 'everything';
}

/** What the API knows about the creates for one object, independent of its annotations and status. */
export interface CreateScope {
  /** Those that still exist, newest first. */
  resources: readonly { id: string; sequence: number }[];
  /** The sequence number that the next create must have. */
  nextSequence: number;
}

/** The API key sees only the resources of its owner. */
export interface Sight {
  ownerId: string;
  /** False for bots. */
  mayBeAdmin: boolean;
}

export interface RotateOptions extends WriteOptions {
  idempotencyKey: string;
  /** For how many seconds the former value works as well. */
  overlap: number;
}

export interface External<Spec, R extends Remote> {
  /** What the ids of its resources start with, as in `cr_`. */
  readonly idPrefix: string;
  /** Whether it has the form of such an id. */
  isId(id: string): boolean;
  /** The observed resource, or undefined if it does not exist. */
  observe(id: string): Promise<R | undefined>;
  /** Creates it; repeated with the same key, it returns what the first call created. */
  create(spec: Spec, options: CreateOptions): Promise<R>;
  /** The spec fields in which the resource differs from the spec; empty if it matches. */
  changes(spec: Spec, remote: R): string[];
  /** Those of `changes` that no update can make. */
  immutableChanges(spec: Spec, remote: R): string[];
  /** Those of `immutableChanges` for which a new resource takes the place of this one. */
  replacingChanges(spec: Spec, remote: R): string[];
  /** Makes it match the spec. */
  update(remote: R, spec: Spec, options?: WriteOptions): Promise<R>;
  /**
   * Has it issue another one-time value in place of its current one. Repeated with the same key, it issues no further one and
   * restarts the overlap; the value is missing if it can no longer be shown. Kinds without this verb replace the resource.
   * @returns undefined if the resource does not exist
   */
  rotate?(id: string, options: RotateOptions): Promise<Remote | undefined>;
  delete(id: string, options?: WriteOptions): Promise<'deleted' | 'not found'>;
  /**
   * Has the API record the manager of the resource; a resource that does not exist needs none.
   * @throws ApiError naming another manager, if one is recorded
   */
  claim(id: string, options: ClaimOptions): Promise<void>;
  /** Has it forget the manager. @throws ApiError as above */
  release(id: string, options: WriteOptions): Promise<void>;
  /** Which resources of the family the API key sees: without admin rights, possibly only its owner's. */
  sight(): Promise<'everything' | Sight>;
  /**
   * Every resource of the family, page by page, for drift detection.
   * @param ids the relevant ones; others may be omitted
   */
  all(ids?: ReadonlySet<string>): AsyncIterable<R>;
  scope(name: string): Promise<CreateScope>;
  /** Ensures that no create sent earlier can still take effect. */
  closeScope(name: string): Promise<CreateScope>;
}

/** Why a resource, or the value that it hands out, has to be replaced. `overlapMs` is how long the old one works on. */
export interface Renewal {
  cause: 'requested' | 'interval' | 'expiring' | 'lost' | 'changed';
  overlapMs: number;
  message: string;
}

/** The object that something is handed out to. */
export interface Recipient {
  readonly object: KubeObject;
  /** @throws StaleObject if a newer version of the object exists */
  mustBeNewest(): Promise<void>;
}

/** For kinds whose resource hands out a value, possibly only once, which must be stored in the cluster. */
export interface Delivery<Spec, R extends Remote> {
  readonly handout: Handout;
  /** The name of the Secret. */
  nameFor(object: KubeObject, spec: Spec): string;
  /**
   * Called before a value is issued.
   * @param isForGood whether that cannot be undone, so that the Secret is tried in any case
   * @throws Blocked or KubeError when nothing could be stored
   */
  prepare(object: KubeObject, spec: Spec, isForGood?: boolean): Promise<void>;
  /** Stores the value. `lost`: neither the response nor the Secret has it. @throws StaleObject before anything is written */
  deliver(recipient: Recipient, spec: Spec, remote: R): Promise<'held' | 'lost'>;
  /** Whether, according to the caches, the value is stored; never asks the API server. */
  looksHeld(object: KubeObject, spec: Spec): boolean;
  /** The ids of the resources whose values are stored for the object, independent of its annotations and spec. */
  stored(object: KubeObject): Promise<string[]>;
  /** Whether its value must be renewed now, or else when. */
  renewal(object: KubeObject, spec: Spec, remote: R, now: Date): { due?: Renewal; at?: Date };
  /** How long a value that was lost from its Secret works beside the next one. */
  lostOverlapMs(spec: Spec): number;
  /**
   * Makes the stored values outlive their object; returns the ids of the resources that they belong to. May be repeated.
   * @param ids the resources of the object
   */
  release(object: KubeObject, ids: readonly string[]): Promise<string[]>;
}

/** What a kind says about it; storing is the same for every kind. */
export type DeclaredDelivery<Spec, R extends Remote> = Pick<Delivery<Spec, R>, 'handout' | 'renewal'> &
  Partial<Pick<Delivery<Spec, R>, 'lostOverlapMs'>>;

/** The reconcile cannot proceed until something else changes. Not a failure; shown as a condition. */
export class Blocked extends Error {
  override readonly name = 'Blocked';
  readonly reason: Reason;

  constructor(reason: Reason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Responses of the API contradict each other, possibly because a replica is behind. */
export class Contradiction extends Error {
  override readonly name = 'Contradiction';
}

/** The object that was read is stale; retry with the newest version. */
export class StaleObject extends Error {
  override readonly name = 'StaleObject';
}

/** @throws Blocked when no update can make the resource match the spec */
export function requireChangeable<Spec, R extends Remote>(
  external: Pick<External<Spec, R>, 'immutableChanges'>,
  spec: Spec,
  remote: R,
): void {
  const fields = external.immutableChanges(spec, remote).map((name) => `spec.${name}`);
  if (fields.length === 0) return;
  throw new Blocked(
    REASON.rejected,
    `${remote.id} differs in ${fields.join(', ')}, which cannot be changed: delete this object and create one that matches ${remote.id}`,
  );
}
