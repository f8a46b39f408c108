/** What a kind must know of the management API: the verbs behind the one reconcile loop. */
import type { KubeObject } from '../kube/kube-object.ts';

export interface Remote {
  id: string;
  uri: string;
}

export interface External<Spec, R extends Remote> {
  /** The resource as it is, or undefined when it does not exist. */
  observe(id: string): Promise<R | undefined>;
  /** Creates it; repeated with the same key, it answers with what the first call created. */
  create(spec: Spec, idempotencyKey: string): Promise<R>;
  /** The spec fields in which the resource differs from what is declared; empty when it is as declared. */
  changes(spec: Spec, remote: R): string[];
  /** Of `changes`, the fields that no update can change. */
  immutableChanges(spec: Spec, remote: R): string[];
  /** Makes it as declared. */
  update(remote: R, spec: Spec): Promise<R>;
  /** Deletes it; one that does not exist is no error. */
  delete(id: string): Promise<void>;
  /** Every resource of the family, page by page: what drift detection reads. */
  all(): AsyncIterable<R>;
  /** Ensures that nothing can be created under the key any more; the id of what was and still exists. */
  closeKey(idempotencyKey: string): Promise<string | undefined>;
}

/** Why a token has to be issued anew. `overlapMs` is how long the old one stays valid. */
export interface Renewal {
  cause: 'requested' | 'interval' | 'lost';
  overlapMs: number;
  message: string;
  /** Annotations that record that the cause was dealt with. */
  annotations: Record<string, string>;
}

/** For kinds whose resource hands out something once, which must be put in a safe place in the cluster. */
export interface Delivery<Spec, R extends Remote> {
  /** Before anything is created. @throws Blocked when there is no place to put it */
  prepare(object: KubeObject, spec: Spec): Promise<void>;
  /** Puts it in its place. `lost`: neither the answer nor the place has it. */
  deliver(object: KubeObject, spec: Spec, remote: R): Promise<'held' | 'lost'>;
  /** Whether, by what the caches say, it is in its place; never asks the API server. */
  looksHeld(object: KubeObject, spec: Spec): boolean;
  /** Whether it must be replaced now, and else when. */
  renewal(object: KubeObject, spec: Spec, remote: R, now: Date): { due?: Renewal; at?: Date };
  /** Makes it survive its object. */
  release(object: KubeObject): Promise<void>;
}

/** Work on the object cannot go on until something else changes; not a failure. Becomes a condition. */
export class Blocked extends Error {
  override readonly name = 'Blocked';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The object that was read is not the newest; try again with that. */
export class StaleObject extends Error {
  override readonly name = 'StaleObject';
}
