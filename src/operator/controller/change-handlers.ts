/** Event handlers: which keys a change in a cache adds to a controller's work queue. */
import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import type { ChangeHandler, ChangeOrigin, ObjectChange, ObjectStore } from '../kube/object-store.ts';
import type { Claims } from '../managed/knowledge/claims.ts';
import type { ConnectedKind } from '../managed/object/connected-kind.ts';
import { ownersOfChange } from '../managed/secrets/ownership.ts';
import type { WorkQueue } from './work-queue.ts';

/**
 * Adds an object that somebody else changed; this process knows its own writes. A change that may be the remedy for a
 * failure ends the long wait after it.
 */
export class EnqueueObject implements ChangeHandler {
  readonly #queue: WorkQueue;

  constructor(queue: WorkQueue) {
    this.#queue = queue;
  }

  onChange(change: ObjectChange, origin: ChangeOrigin): void {
    if (change.type === 'deleted' || origin === 'own') return;
    if (change.type === 'updated' && isRemedy(change.previous, change.object)) this.#queue.forget(change.key);
    this.#queue.addIfNeeded(change.key);
  }
}

/**
 * Adds the other claimants of an id when a claim on it appears, is confirmed or goes: another object may now win the id, or
 * lose it.
 */
export class EnqueueRivals implements ChangeHandler {
  readonly #queue: WorkQueue;
  readonly #claims: Claims;

  constructor(queue: WorkQueue, claims: Claims) {
    this.#queue = queue;
    this.#claims = claims;
  }

  onChange(change: ObjectChange): void {
    for (const id of this.#claims.contestedBy(change)) {
      for (const key of this.#claims.concernedWith(id)) if (key !== change.key) this.#queue.add(key);
    }
  }
}

/** Adds the owner of a Secret that somebody else changed. */
export class EnqueueOwner implements ChangeHandler {
  readonly #queue: WorkQueue;
  readonly #kind: Pick<ConnectedKind, 'name'>;
  readonly #store: ObjectStore;

  constructor(queue: WorkQueue, kind: Pick<ConnectedKind, 'name'>, store: ObjectStore) {
    this.#queue = queue;
    this.#kind = kind;
    this.#store = store;
  }

  onChange(change: ObjectChange, origin: ChangeOrigin): void {
    if (origin === 'own') return;
    for (const owner of ownersOfChange(change)) {
      const key = keyOf({ metadata: owner });
      if (owner.kind === this.#kind.name && this.#store.get(key)) this.#queue.addIfNeeded(key);
    }
  }
}

/** Whether more than the status has changed. */
function isRemedy({ metadata: before }: KubeObject, { metadata: after }: KubeObject): boolean {
  return (
    before.generation !== after.generation ||
    before.deletionTimestamp !== after.deletionTimestamp ||
    !isDeepStrictEqual(before.annotations, after.annotations)
  );
}
