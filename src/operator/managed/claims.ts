/**
 * Which object manages which remote resource. Several objects may claim one id, by managing it or by naming it in
 * `adopt`. The oldest wins, and the others are blocked until it gives up its claim.
 */
import { REASON } from '../contract/reasons.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { ChangeHandler, ObjectChange, ObjectStore } from '../kube/object-store.ts';
import type { ConnectedKind } from './connected-kind.ts';
import { Blocked } from './external.ts';
import { claimOf } from './identity.ts';
import type { ManagedSpec } from './spec.ts';

/** Indexes the objects of one kind by the id that they claim; must be the first handler of their cache. */
export class Claims implements ChangeHandler {
  readonly #kind: Pick<ConnectedKind, 'name' | 'specIfValid'>;
  readonly #store: ObjectStore;
  readonly #claimants = new Map<string, Set<string>>();

  constructor(kind: Pick<ConnectedKind, 'name' | 'specIfValid'>, store: ObjectStore) {
    this.#kind = kind;
    this.#store = store;
  }

  /** The object with an older claim to the id that `object` claims. */
  rivalOf(object: KubeObject): KubeObject | undefined {
    const id = claimOf(object);
    if (id === undefined) return undefined;
    const claimants = this.claimantsOf(id).flatMap((key) => this.#store.get(key) ?? []);
    return findRival(object, claimants, (other) => this.#kind.specIfValid(other));
  }

  /** @throws Blocked when an older object claims the same id */
  mustHaveNoRival(object: KubeObject): void {
    const rival = this.rivalOf(object);
    if (!rival) return;
    const { namespace, name } = rival.metadata;
    const message = `${claimOf(object)} is already managed by the older ${this.#kind.name} ${namespace}/${name}`;
    throw new Blocked(REASON.managementConflict, message);
  }

  /** Keys of the objects that claim the id. */
  claimantsOf(id: string): readonly string[] {
    return [...(this.#claimants.get(id) ?? [])];
  }

  onChange(change: ObjectChange): void {
    const { before, after } = claimChange(change);
    if (before === after) return;
    if (before !== undefined) {
      const keys = this.#claimants.get(before);
      keys?.delete(change.key);
      if (keys?.size === 0) this.#claimants.delete(before);
    }
    if (after !== undefined) {
      const keys = this.#claimants.get(after) ?? new Set();
      this.#claimants.set(after, keys.add(change.key));
    }
  }
}

/** What the object claimed before the change and claims after it. */
export function claimChange(change: ObjectChange): { before: string | undefined; after: string | undefined } {
  switch (change.type) {
    case 'added':
      return { before: undefined, after: claimOf(change.object) };
    case 'updated':
      return { before: claimOf(change.previous), after: claimOf(change.object) };
    case 'deleted':
      return { before: claimOf(change.object), after: undefined };
  }
}

/**
 * The claimant that takes precedence over `object`. Objects that only observe are nobody's rival: there may be any
 * number.
 */
export function findRival(
  object: KubeObject,
  claimants: readonly KubeObject[],
  specIfValid: (object: KubeObject) => Pick<ManagedSpec, 'managementPolicy'> | undefined,
): KubeObject | undefined {
  return claimants.find((other) => isOlder(other, object) && specIfValid(other)?.managementPolicy !== 'Observe');
}

/** The order of claimants of one id: the older object wins, and between equally old ones the smaller UID. */
export function isOlder(a: KubeObject, b: KubeObject): boolean {
  const [ageA, ageB] = [Date.parse(a.metadata.creationTimestamp), Date.parse(b.metadata.creationTimestamp)];
  return ageA === ageB ? a.metadata.uid < b.metadata.uid : ageA < ageB;
}
