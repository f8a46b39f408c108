/**
 * Which object manages which remote resource. Several objects may claim one id, by managing it or by naming it in an
 * annotation. An object that manages it takes precedence over one that only names it, and an older over a younger one; the
 * others are blocked until it gives up its claim. A resource that was created for an object is always its own. An object
 * manages a superseded resource until it has deleted or released it.
 *
 * An annotation alone does not claim the modules of a resource; the spec must also refer to that resource.
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
  /** Whether a reconcile has confirmed it. Otherwise, it rests on annotations alone, which users can edit. */
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
  readonly #connectionOf: (object: KubeObject) => string;
  readonly #concerned = new KeyIndex((object) => this.#idsConcerning(object));

  /**
   * @param mayAdopt whether a claim by annotation alone counts in the namespace
   * @param connectionOf only objects of one connection are rivals: another account has no resource of that id
   */
  constructor(
    kind: ClaimingKind,
    store: ObjectStore,
    mayAdopt: (namespace: string) => boolean = () => true,
    connectionOf: (object: KubeObject) => string = () => '',
  ) {
    this.#connectionOf = connectionOf;
    this.#kind = kind;
    this.#store = store;
    this.#mayAdopt = mayAdopt;
  }

  /** The object whose claim on the same id takes precedence over that of `object`. */
  rivalOf(object: KubeObject): KubeObject | undefined {
    const id = currentClaim(object)?.id;
    return id === undefined ? undefined : this.rivalFor(id, object);
  }

  /** The object whose claim on the id takes precedence; `object` may have superseded that resource. */
  rivalFor(id: string, object: KubeObject): KubeObject | undefined {
    const claimOfEach = (each: KubeObject) => this.claimOn(id, each);
    return this.#managingClaimants(id, object).find((other) => goesBefore(other, object, claimOfEach));
  }

  /** The claim of the object on the id. */
  claimOn(id: string, object: KubeObject): Claim | undefined {
    return this.#claimsOf(object).findLast((claim) => claim.id === id);
  }

  /** The objects other than this one that claim the id. */
  othersClaiming(id: string, object: KubeObject): KubeObject[] {
    return this.#managingClaimants(id, object).filter(({ metadata }) => metadata.uid !== object.metadata.uid);
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

  /** The ids on which a claim has appeared, changed or disappeared. */
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

  /** Superseded resources come last, so that they override the annotations. */
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

  /** The ids that the object claims, and the one that its status shows to its referrers. */
  #idsConcerning(object: KubeObject): string[] {
    if (isFinalized(object)) return [];
    return [...new Set([...this.#claimsOf(object).map(({ id }) => id), ...someOf(readStatus(object).id)])];
  }

  #managingClaimants(id: string, object: KubeObject): KubeObject[] {
    const concerned = this.concernedWith(id).flatMap((key) => this.#store.get(key) ?? []);
    const claimants = concerned.filter((other) => this.isClaimedBy(other, id));
    if (claimants.length === 0) return [];
    const connection = this.#connectionOf(object);
    return claimants.filter((other) => this.#connectionOf(other) === connection);
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

/** The superseded resources that the object still manages. Entries that the status does not show do not count. */
export function supersededIn(object: KubeObject): string[] {
  const { retiring } = readIdentity(object);
  const shown = retiring.length > 0 && !isFinalized(object) ? shownIdentity(object) : undefined;
  return shown ? retiring.map(({ id }) => id).filter((id) => knows(shown, id)) : [];
}

const someOf = <T>(value: T | undefined): T[] => (value === undefined ? [] : [value]);

/** Any number of objects may observe a resource. An object whose policy is invalid counts as managing. */
const isManaging = ({ managementPolicy }: Pick<ManagedSpec, 'managementPolicy'>) => managementPolicy !== 'Observe';

/** Whether `a` takes precedence over `b`: first confirmed claims, then unconfirmed ones, then the older object. */
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
