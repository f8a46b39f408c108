/**
 * Which object manages which remote resource. Several objects may claim one id, by managing it or by naming it in an
 * annotation. The one that manages it goes before those that only name it, and the older before the younger; the others
 * are blocked until it gives up its claim. What was created for an object itself is its own, whoever else claims it.
 */
import type { KubeObject } from '../kube/kube-object.ts';
import type { ChangeHandler, ObjectChange, ObjectStore } from '../kube/object-store.ts';
import type { ConnectedKind } from './connected-kind.ts';
import { claimOf, readIdentity } from './identity.ts';
import { hasFinalizer, isDeleting, type ManagedSpec, shownIdentity } from './spec.ts';

export interface Claim {
  id: string;
  /** Whether a reconcile has confirmed it. Otherwise it is only what the annotations say, which anybody may have edited. */
  isConfirmed: boolean;
}

type ClaimingKind = Pick<ConnectedKind, 'specIfValid'> & Partial<Pick<ConnectedKind, 'belongsTo' | 'isAttached'>>;

/** Indexes the objects of one kind by the id that they claim; must be the first handler of their cache. */
export class Claims implements ChangeHandler {
  readonly #kind: ClaimingKind;
  readonly #store: ObjectStore;
  readonly #mayAdopt: (namespace: string) => boolean;
  readonly #claimants = new Map<string, Set<string>>();

  /** @param mayAdopt where a claim counts that no reconcile has confirmed, and nothing but an annotation makes */
  constructor(kind: ClaimingKind, store: ObjectStore, mayAdopt: (namespace: string) => boolean = () => true) {
    this.#kind = kind;
    this.#store = store;
    this.#mayAdopt = mayAdopt;
  }

  /** The object that goes before `object` in claiming the same id. */
  rivalOf(object: KubeObject): KubeObject | undefined {
    const id = claimIn(object)?.id;
    return id === undefined ? undefined : this.#managingClaimants(id).find((other) => goesBefore(other, object));
  }

  /** Whether an object other than this one claims the id, and will look after what it has. */
  isClaimedByAnother(id: string, object: KubeObject): boolean {
    // Modules are left to each other: what is being deleted may have left these to this object, a moment ago.
    return this.othersClaiming(id, object).some((other) => !(this.#kind.isAttached && isDeleting(other)));
  }

  /** The objects other than this one that claim the id. */
  othersClaiming(id: string, { metadata }: KubeObject): KubeObject[] {
    return this.#managingClaimants(id).filter((other) => other.metadata.uid !== metadata.uid);
  }

  /** Keys of the objects that claim the id. */
  claimantsOf(id: string): readonly string[] {
    return [...(this.#claimants.get(id) ?? [])];
  }

  onChange(change: ObjectChange): void {
    const claims = claimChange(change);
    const [before, after] = [claims.before?.id, claims.after?.id];
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

  #counts(object: KubeObject, id: string): boolean {
    if (claimIn(object)?.isConfirmed || this.#mayAdopt(object.metadata.namespace ?? '')) return true;
    // Not only an annotation says so.
    return this.#kind.belongsTo?.(object, id) ?? false;
  }

  #managingClaimants(id: string): KubeObject[] {
    const claimants = this.claimantsOf(id).flatMap((key) => this.#store.get(key) ?? []);
    return claimants.filter((other) => this.#counts(other, id) && isManaging(this.#kind.specIfValid(other)));
  }
}

/** The claim of the object: what its status shows, unless that is superseded; else what its annotations name. */
export function claimIn(object: KubeObject): Claim | undefined {
  // Finalized: somebody else may still hold it up, for as long as they like.
  if (isDeleting(object) && !hasFinalizer(object)) return undefined;
  const shown = shownIdentity(object)?.externalId;
  const isSuperseded = readIdentity(object).retiring.some(({ id }) => id === shown);
  if (shown !== undefined && !isSuperseded) return { id: shown, isConfirmed: true };
  const named = claimOf(object);
  return named === undefined ? undefined : { id: named, isConfirmed: false };
}

/** What the object claimed before the change and claims after it. */
export function claimChange(change: ObjectChange): { before: Claim | undefined; after: Claim | undefined } {
  switch (change.type) {
    case 'added':
      return { before: undefined, after: claimIn(change.object) };
    case 'updated':
      return { before: claimIn(change.previous), after: claimIn(change.object) };
    case 'deleted':
      return { before: claimIn(change.object), after: undefined };
  }
}

/** Objects that only observe are nobody's rival: there may be any number. One whose spec is invalid may manage. */
const isManaging = (spec: Pick<ManagedSpec, 'managementPolicy'> | undefined) => spec?.managementPolicy !== 'Observe';

/** The order of the claimants of one id. */
export function goesBefore(a: KubeObject, b: KubeObject): boolean {
  if (a.metadata.uid === b.metadata.uid) return false;
  const [claimA, claimB] = [claimIn(a), claimIn(b)];
  return claimA?.isConfirmed === claimB?.isConfirmed ? isOlder(a, b) : (claimA?.isConfirmed ?? false);
}

/** Between equally old ones, the one with the smaller UID counts as older. */
export function isOlder(a: KubeObject, b: KubeObject): boolean {
  const [ageA, ageB] = [Date.parse(a.metadata.creationTimestamp), Date.parse(b.metadata.creationTimestamp)];
  return ageA === ageB ? a.metadata.uid < b.metadata.uid : ageA < ageB;
}
