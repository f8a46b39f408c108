/**
 * Which object manages which remote resource. Several objects may claim one id, by managing it or by naming it in an
 * annotation. The one that manages it goes before those that only name it, and the older before the younger; the others
 * are blocked until it gives up its claim. What was created for an object itself is its own, whoever else claims it. What
 * an object has superseded, it manages until it has deleted or left it: it may take it back.
 *
 * Modules of a resource are also declared: by every object whose spec refers to it. An annotation alone claims none, and
 * who has them leaves them to another that declares some (succession.ts).
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../kube/kube-object.ts';
import type { ChangeHandler, ObjectChange, ObjectStore } from '../kube/object-store.ts';
import type { ConnectedKind } from './connected-kind.ts';
import { claimOf, knows, readIdentity } from './identity.ts';
import { KeyIndex, statesOf } from './key-index.ts';
import { isDeleting, isFinalized, type ManagedSpec, readStatus, shownIdentity } from './spec.ts';

export interface Claim {
  id: string;
  /** Whether a reconcile has confirmed it. Otherwise it is only what the annotations say, which anybody may have edited. */
  isConfirmed: boolean;
}

type AttachedPart = Pick<
  ConnectedKind,
  'isAttached' | 'belongsTo' | 'mayBelong' | 'ownerIdOf' | 'ownerKeyIn' | 'ownerKeysOf'
>;
type ClaimingKind = Pick<ConnectedKind, 'membersOf'> & Partial<AttachedPart>;

/** Indexes the objects of one kind by the id that they claim; must be the first handler of their cache. */
export class Claims implements ChangeHandler {
  readonly #kind: ClaimingKind;
  readonly #store: ObjectStore;
  readonly #mayAdopt: (namespace: string) => boolean;
  readonly #concerned = new KeyIndex((object) => this.#idsConcerning(object));
  /** Of attached kinds, by what the spec names as the owner. */
  readonly #declaring = new KeyIndex((object) => someOf(this.#kind.ownerKeyIn?.(object)));

  /** @param mayAdopt where a claim counts that no reconcile has confirmed, and nothing but an annotation makes */
  constructor(kind: ClaimingKind, store: ObjectStore, mayAdopt: (namespace: string) => boolean = () => true) {
    this.#kind = kind;
    this.#store = store;
    this.#mayAdopt = mayAdopt;
  }

  /** The object that goes before `object` in claiming the same id. */
  rivalOf(object: KubeObject): KubeObject | undefined {
    const id = claimIn(object)?.id;
    return id === undefined ? undefined : this.rivalFor(id, object);
  }

  /** The object that goes before `object` in claiming the id, which that may have superseded. */
  rivalFor(id: string, object: KubeObject): KubeObject | undefined {
    const claimOf = (each: KubeObject) => this.claimTo(id, each);
    return this.#managingClaimants(id).find((other) => goesBefore(other, object, claimOf));
  }

  /** What the object claims of the id. */
  claimTo(id: string, object: KubeObject): Claim | undefined {
    return this.#claimsOf(object).findLast((claim) => claim.id === id);
  }

  /**
   * Whether an object other than this one claims the id, and will look after what it has. Of two that have both superseded
   * it, one does.
   */
  isClaimedByAnother(id: string, object: KubeObject): boolean {
    const rival = this.rivalFor(id, object);
    return this.othersClaiming(id, object).some((other) => other === rival || !this.#supersededIn(other).includes(id));
  }

  /** The objects other than this one that claim the id. */
  othersClaiming(id: string, { metadata }: KubeObject): KubeObject[] {
    return this.#managingClaimants(id).filter((other) => other.metadata.uid !== metadata.uid);
  }

  /** The other objects that may have the modules of the resource after this one, the first of them before the others. */
  heirsOf(id: string, object: KubeObject): KubeObject[] {
    const owners = [...(this.#kind.ownerKeysOf?.(id) ?? []), ...someOf(this.#kind.ownerKeyIn?.(object))];
    const declaring = owners.flatMap((owner) => this.#declaring.keysOf(owner));
    const keys = new Set([...this.concernedWith(id), ...declaring]);
    const heirs = [...keys]
      .flatMap((key) => this.#store.get(key) ?? [])
      .filter((each) => this.isHeir(each, id, object));
    // Those that have yet to claim them lack something else, perhaps.
    const claimOf = (each: KubeObject) => this.claimTo(id, each);
    const inOrder = (a: KubeObject, b: KubeObject) =>
      Number(goesBefore(b, a, claimOf)) - Number(goesBefore(a, b, claimOf));
    return heirs.sort((a, b) => Number(this.isClaimedBy(b, id)) - Number(this.isClaimedBy(a, id)) || inOrder(a, b));
  }

  /** Whether the other would look after the modules of the resource that the object has: it declares some, and stays. */
  isHeir(other: KubeObject, id: string, object: KubeObject): boolean {
    if (other.metadata.uid === object.metadata.uid || isDeleting(other)) return false;
    if (!isManaging(this.#kind.membersOf(other))) return false;
    return this.isConfirmed(other, id) || this.#declares(other, id) || this.#refersLike(other, id, object);
  }

  /** Whether the object claims the id, and manages what it claims. */
  isClaimedBy(object: KubeObject, id: string): boolean {
    const claim = this.claimTo(id, object);
    if (!claim || !this.#counts(id, object)) return false;
    if (claim.isConfirmed) return true;
    // Of modules, the spec has to say so, too.
    return this.#kind.isAttached ? this.#declares(object, id) : this.#isGranted(object);
  }

  /** Keys of the objects that claim the id, or show it to those that refer to them. */
  concernedWith(id: string): readonly string[] {
    return this.#concerned.keysOf(id);
  }

  /** The ids that others may claim, or no longer, since the change. */
  contestedBy(change: ObjectChange): string[] {
    const { before, after } = statesOf(change);
    const had = new Map(before && this.#countedClaimsOf(before));
    const has = new Map(after && this.#countedClaimsOf(after));
    const ids = [...new Set([...had.keys(), ...has.keys()])];
    return this.#declaresTheSame(change) ? ids.filter((id) => had.get(id) !== has.get(id)) : ids;
  }

  onChange(change: ObjectChange): void {
    this.#concerned.onChange(change);
    if (!this.#declaresTheSame(change)) this.#declaring.onChange(change);
  }

  #declaresTheSame(change: ObjectChange): boolean {
    if (!this.#kind.isAttached) return true;
    if (change.type !== 'updated') return false;
    const { previous, object } = change;
    return isDeepStrictEqual(previous.spec, object.spec);
  }

  /** Whether a reconcile has confirmed that the object has what the id stands for. */
  isConfirmed(object: KubeObject, id: string): boolean {
    return this.claimTo(id, object)?.isConfirmed ?? false;
  }

  #declares(object: KubeObject, id: string): boolean {
    return this.#kind.belongsTo?.(object, id, this.#isGranted(object)) ?? false;
  }

  /**
   * Whether both refer by name to what nothing is known of, which the object claims. Of all else that it has or had, the ids
   * tell whose it is.
   */
  #refersLike(other: KubeObject, id: string, object: KubeObject): boolean {
    const [key, wanted] = [other, object].map((each) => this.#kind.ownerKeyIn?.(each));
    if (key === undefined || key !== wanted || claimIn(object)?.id !== id) return false;
    const isGranted = this.#isGranted(other);
    if (this.#kind.ownerIdOf?.(other, isGranted) !== undefined) return false;
    return this.#kind.mayBelong?.(other, isGranted) ?? false;
  }

  /** Whether its annotations and its ids count. */
  #isGranted({ metadata }: KubeObject): boolean {
    return this.#mayAdopt(metadata.namespace ?? '');
  }

  /** What is superseded comes last: it counts, whatever the annotations name. Modules are handed over instead. */
  #claimsOf(object: KubeObject): Claim[] {
    return [...someOf(claimIn(object)), ...this.#supersededIn(object).map((id) => ({ id, isConfirmed: true }))];
  }

  #supersededIn(object: KubeObject): string[] {
    return this.#kind.isAttached ? [] : supersededIn(object);
  }

  /** Whether the claim can make the object a rival: one that only observes manages at most what it has superseded. */
  #counts(id: string, object: KubeObject): boolean {
    return isManaging(this.#kind.membersOf(object)) || this.#supersededIn(object).includes(id);
  }

  #countedClaimsOf(object: KubeObject): [string, string][] {
    return this.#claimsOf(object).map(({ id, isConfirmed }) => [id, `${this.#counts(id, object)} ${isConfirmed}`]);
  }

  /** What it claims and what it shows, which an object that is being replaced does for others yet. */
  #idsConcerning(object: KubeObject): string[] {
    if (isFinalized(object)) return [];
    return [...new Set([...this.#claimsOf(object).map(({ id }) => id), ...someOf(readStatus(object).id)])];
  }

  #managingClaimants(id: string): KubeObject[] {
    const concerned = this.concernedWith(id).flatMap((key) => this.#store.get(key) ?? []);
    return concerned.filter((other) => this.isClaimedBy(other, id));
  }
}

/** The claim of the object: what its status shows, unless that is superseded; else what its annotations name. */
export function claimIn(object: KubeObject): Claim | undefined {
  if (isFinalized(object)) return undefined;
  const shown = shownIdentity(object)?.externalId;
  const isSuperseded = readIdentity(object).retiring.some(({ id }) => id === shown);
  if (shown !== undefined && !isSuperseded) return { id: shown, isConfirmed: true };
  const named = claimOf(object);
  return named === undefined ? undefined : { id: named, isConfirmed: false };
}

/** What the object has superseded, and not yet deleted or left. What only its annotations list is not believed. */
export function supersededIn(object: KubeObject): string[] {
  const { retiring } = readIdentity(object);
  const shown = retiring.length > 0 && !isFinalized(object) ? shownIdentity(object) : undefined;
  return shown ? retiring.map(({ id }) => id).filter((id) => knows(shown, id)) : [];
}

const someOf = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);

/** Objects that only observe are nobody's rival: there may be any number. One whose policy is invalid may manage. */
const isManaging = ({ managementPolicy }: Pick<ManagedSpec, 'managementPolicy'>) => managementPolicy !== 'Observe';

/** The order of the claimants of one id: who manages it, who names it, who does neither. */
export function goesBefore(a: KubeObject, b: KubeObject, claimOf = claimIn): boolean {
  if (a.metadata.uid === b.metadata.uid) return false;
  const [rankA, rankB] = [a, b].map((object) => {
    const claim = claimOf(object);
    return claim ? Number(claim.isConfirmed) : -1;
  });
  return rankA === rankB ? isOlder(a, b) : Number(rankA) > Number(rankB);
}

/** Between equally old ones, the one with the smaller UID counts as older. */
export function isOlder(a: KubeObject, b: KubeObject): boolean {
  const [ageA, ageB] = [Date.parse(a.metadata.creationTimestamp), Date.parse(b.metadata.creationTimestamp)];
  return ageA === ageB ? a.metadata.uid < b.metadata.uid : ageA < ageB;
}
