/** Which keys a change in a cache brings into the queue of a controller. */
import { keyOf } from '../kube/kube-object.ts';
import type { ChangeHandler, ChangeOrigin, ObjectChange, ObjectStore } from '../kube/object-store.ts';
import { type Claims, claimChange } from '../managed/claims.ts';
import type { ConnectedKind } from '../managed/connected-kind.ts';
import { ownersOfChange } from '../managed/secrets/ownership.ts';
import type { WorkQueue } from './work-queue.ts';

/** An object that was changed by others; what this process writes, it knows. */
export class EnqueueObject implements ChangeHandler {
  readonly #queue: WorkQueue;

  constructor(queue: WorkQueue) {
    this.#queue = queue;
  }

  onChange(change: ObjectChange, origin: ChangeOrigin): void {
    if (change.type !== 'deleted' && origin === 'watch') this.#queue.addIfNeeded(change.key);
  }
}

/** A claim that comes or goes may decide about all others of that id, even if nothing about them has changed. */
export class EnqueueRivals implements ChangeHandler {
  readonly #queue: WorkQueue;
  readonly #claims: Claims;

  constructor(queue: WorkQueue, claims: Claims) {
    this.#queue = queue;
    this.#claims = claims;
  }

  onChange(change: ObjectChange): void {
    const { before, after } = claimChange(change);
    if (before === after) return;
    for (const id of [before, after]) {
      if (id === undefined) continue;
      for (const key of this.#claims.claimantsOf(id)) if (key !== change.key) this.#queue.add(key);
    }
  }
}

/** The object of a Secret that was changed by others. */
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
