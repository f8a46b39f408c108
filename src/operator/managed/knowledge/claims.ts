/**
 * Which object manages which remote resource. Several objects may claim one id, by managing it or by naming it in an
 * annotation. The one that manages it goes before those that only name it, and the older before the younger; the others
 * are blocked until it gives up its claim. What was created for an object is always its own. An object manages what it
 * has superseded until it has deleted or left it.
 *
 * An annotation alone does not claim the modules of a resource: the spec has to refer to that resource, too.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../kube/kube-object.ts';
import { type ChangeHandler, type ObjectChange, type ObjectStore, statesOf } from '../../kube/object-store.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { claimedId, knows, readIdentity } from '../identity/identity.ts';
import { isFinalized, readStatus, shownIdentity } from '../identity/recorded-status.ts';
import { KeyIndex } from './key-index.ts';

export interface Claim {
  id: string;
  /** Whether a reconcile has confirmed it. Otherwise it is only what the annotations say, which anybody may have edited. */
  isConfirmed: boolean;
}

/** What the index asks the kind of its objects. */
export interface ClaimingKind {
  membersOf(object: KubeObject): ManagedSpec;
  isAttached?: boolean;
  belongsTo?(object: KubeObject, id: string, mayNameIds: boolean): boolean;
}

/** Indexes the objects of one kind by the id that they claim; must be the first handler of their cache. */
export class Claims implements ChangeHandler {
  readonly #kind: ClaimingKind;
  readonly #store: ObjectStore;
  readonly #mayAdopt: (namespace: string) => boolean;
  readonly #concerned = new KeyIndex((object) => this.#idsConcerning(object));

  /** @param mayAdopt whether a claim counts in the namespace that only an annotation makes */
  constructor(kind: ClaimingKind, store: ObjectStore, mayAdopt: (namespace: string) => boolean = () => true) {
    this.#kind = kind;
    this.#store = store;
    this.#mayAdopt = mayAdopt;
  }

  /** The object that goes before `object` in claiming the same id. */
  rivalOf(object: KubeObject): KubeObject | undefined {
    const id = currentClaim(object)?.id;
    return id === undefined ? undefined : this.rivalFor(id, object);
  }

  /** The object that goes before `object` in claiming the id, which `object` may have superseded. */
  rivalFor(id: string, object: KubeObject): KubeObject | undefined {
    const claimOfEach = (each: KubeObject) => this.claimOn(id, each);
    return this.#managingClaimants(id).find((other) => goesBefore(other, object, claimOfEach));
  }

  /** The claim of the object on the id. */
  claimOn(id: string, object: KubeObject): Claim | undefined {
    return this.#claimsOf(object).findLast((claim) => claim.id === id);
  }

  /** The objects other than this one that claim the id. */
  othersClaiming(id: string, { metadata }: KubeObject): KubeObject[] {
    return this.#managingClaimants(id).filter((other) => other.metadata.uid !== metadata.uid);
  }

  /** Whether the object claims the id, and manages what it claims. */
  isClaimedBy(object: KubeObject, id: string): boolean {
    const claim = this.claimOn(id, object);
    if (!claim || !this.#counts(id, object)) return false;
    if (claim.isConfirmed) return true;
    const mayAdopt = this.#mayAdopt(object.metadata.namespace ?? '');
    // An annotation alone does not claim modules.
    return this.#kind.isAttached ? (this.#kind.belongsTo?.(object, id, mayAdopt) ?? false) : mayAdopt;
  }

  /** Keys of the objects that claim the id, or show it to those that refer to them. */
  concernedWith(id: string): readonly string[] {
    return this.#concerned.keysOf(id);
  }

  /** The ids on which a claim has appeared, changed or gone. */
  contestedBy(change: ObjectChange): string[] {
    const { before, after } = statesOf(change);
    const had = new Map(before && this.#countedClaimsOf(before));
    const has = new Map(after && this.#countedClaimsOf(after));
    const ids = [...new Set([...had.keys(), ...has.keys()])];
    return this.#declaresTheSame(change) ? ids.filter((id) => had.get(id) !== has.get(id)) : ids;
  }

  onChange(change: ObjectChange): void {
    this.#concerned.onChange(change);
  }

  #declaresTheSame(change: ObjectChange): boolean {
    if (!this.#kind.isAttached) return true;
    if (change.type !== 'updated') return false;
    const { previous, object } = change;
    return isDeepStrictEqual(previous.spec, object.spec);
  }

  /** Superseded resources come last: they count, whatever the annotations name. */
  #claimsOf(object: KubeObject): Claim[] {
    return [...someOf(currentClaim(object)), ...supersededIn(object).map((id) => ({ id, isConfirmed: true }))];
  }

  /** Whether the claim counts. An object that only observes manages at most what it has superseded. */
  #counts(id: string, object: KubeObject): boolean {
    return isManaging(this.#kind.membersOf(object)) || supersededIn(object).includes(id);
  }

  #countedClaimsOf(object: KubeObject): [string, string][] {
    return this.#claimsOf(object).map(({ id, isConfirmed }) => [id, `${this.#counts(id, object)} ${isConfirmed}`]);
  }

  /** What the object claims, and what its status shows to objects that refer to it. */
  #idsConcerning(object: KubeObject): string[] {
    if (isFinalized(object)) return [];
    return [...new Set([...this.#claimsOf(object).map(({ id }) => id), ...someOf(readStatus(object).id)])];
  }

  #managingClaimants(id: string): KubeObject[] {
    const concerned = this.concernedWith(id).flatMap((key) => this.#store.get(key) ?? []);
    return concerned.filter((other) => this.isClaimedBy(other, id));
  }
}

/**
 * The claim of the object on its current resource: the one that its status shows, unless it is superseded, or else the one
 * that its annotations name.
 */
export function currentClaim(object: KubeObject): Claim | undefined {
  if (isFinalized(object)) return undefined;
  const shown = shownIdentity(object)?.externalId;
  const isSuperseded = readIdentity(object).retiring.some(({ id }) => id === shown);
  if (shown !== undefined && !isSuperseded) return { id: shown, isConfirmed: true };
  const named = claimedId(object);
  return named === undefined ? undefined : { id: named, isConfirmed: false };
}

/** What the object has superseded, and not yet deleted or left. Entries that the status does not show are not believed. */
export function supersededIn(object: KubeObject): string[] {
  const { retiring } = readIdentity(object);
  const shown = retiring.length > 0 && !isFinalized(object) ? shownIdentity(object) : undefined;
  return shown ? retiring.map(({ id }) => id).filter((id) => knows(shown, id)) : [];
}

const someOf = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);

/** Any number of objects may observe a resource. An object whose policy is invalid counts as managing. */
const isManaging = ({ managementPolicy }: Pick<ManagedSpec, 'managementPolicy'>) => managementPolicy !== 'Observe';

/** Whether `a` goes before `b`: a confirmed claim before one that is not, any claim before none, then the older object. */
export function goesBefore(a: KubeObject, b: KubeObject, claimOfEach = currentClaim): boolean {
  if (a.metadata.uid === b.metadata.uid) return false;
  const [rankA, rankB] = [a, b].map((object) => {
    const claim = claimOfEach(object);
    return claim ? Number(claim.isConfirmed) : -1;
  });
  return rankA === rankB ? isOlder(a, b) : Number(rankA) > Number(rankB);
}

/** Between equally old ones, the one with the smaller UID counts as older. */
export function isOlder(a: KubeObject, b: KubeObject): boolean {
  const [ageA, ageB] = [Date.parse(a.metadata.creationTimestamp), Date.parse(b.metadata.creationTimestamp)];
  return ageA === ageB ? a.metadata.uid < b.metadata.uid : ageA < ageB;
}
