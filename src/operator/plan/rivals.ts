/** Objects that claim what an object of the files is to manage, in the cluster with the files applied. */

import { ANNOTATION } from '../contract/names.ts';
import { type DerivedKind, isAttached } from '../export/spec-members.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { ObjectStore } from '../kube/object-store.ts';
import type { External, Remote } from '../managed/declaration/external.ts';
import { Reference } from '../managed/declaration/input.ts';
import { ownerIdIn } from '../managed/declaration/kind.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import { Claims, currentClaim } from '../managed/knowledge/claims.ts';
import { targetOf } from '../managed/knowledge/reference-index.ts';
import { conflictWith, isCreatedIn } from '../managed/object/rivals.ts';
import { isNew } from './desired-cluster.ts';

export interface RivalsOptions {
  /** Those that the cluster has of the kind, with the files applied. */
  existing(kind: DerivedKind): Promise<readonly KubeObject[]>;
  mayAdopt(namespace: string): boolean;
}

interface Claimants {
  readonly store: ObjectStore;
  readonly claims: Claims;
  /** For modules: what the planned objects refer to, by its id. */
  readonly owners: Map<string, string>;
}

export class Rivals {
  readonly #options: RivalsOptions;
  readonly #claimants = new Map<string, Promise<Claimants>>();
  #created = 0;

  constructor(options: RivalsOptions) {
    this.#options = options;
  }

  /**
   * Among objects that do not exist yet, the first one passed counts as the oldest, so call in the order of the files.
   * @throws Blocked when another object keeps this one from what it claims
   */
  async mustHaveNone(
    kind: DerivedKind,
    external: Pick<External<ManagedSpec, Remote>, 'scope'>,
    object: KubeObject,
    spec: ManagedSpec,
  ): Promise<void> {
    const id = isAttached(kind) ? ownerIdIn(kind, spec) : currentClaim(object)?.id;
    if (id === undefined) return;
    const { store, claims, owners } = await this.#claimantsOf(kind);
    const owner = ownerIn(kind, object);
    if (owner instanceof Reference) owners.set(id, targetOf({ input: owner }, object.metadata.namespace ?? ''));
    const hasToCome = isNew(object);
    const claimant = claiming(hasToCome ? this.#asCreated(object) : object, id);
    if (hasToCome) for (const change of store.put(claimant)) claims.onChange(change);
    const rival = claims.rivalOf(claimant);
    if (!rival) return;
    if (!hasToCome && isCreatedIn(await external.scope(object.metadata.uid), id)) return;
    throw conflictWith(rival, kind.kind, id);
  }

  /** Records the claim of a paused object: its annotations claim a resource even though nothing is planned for it. */
  async enter(kind: DerivedKind, object: KubeObject): Promise<void> {
    // Modules have no claim before a reconcile records it.
    if (!isNew(object) || isAttached(kind) || !currentClaim(object)) return;
    const { store, claims } = await this.#claimantsOf(kind);
    for (const change of store.put(this.#asCreated(object))) claims.onChange(change);
  }

  #claimantsOf(kind: DerivedKind): Promise<Claimants> {
    const known = this.#claimants.get(kind.kind) ?? this.#read(kind);
    this.#claimants.set(kind.kind, known);
    return known;
  }

  async #read(kind: DerivedKind): Promise<Claimants> {
    const store = new ObjectStore();
    const membersOf = (object: KubeObject): ManagedSpec => kind.readMembers(object.spec);
    // Modules claim the owner that the spec refers to.
    const owners = new Map<string, string>();
    const belongsTo = (other: KubeObject, id: string) => mayBelongTo(ownerIn(kind, other), id, other, owners.get(id));
    const ofKind = { membersOf, isAttached: isAttached(kind), belongsTo };
    const claims = new Claims(ofKind, store, this.#options.mayAdopt);
    for (const object of await this.#options.existing(kind)) {
      for (const change of store.put(object)) claims.onChange(change);
    }
    return { store, claims, owners };
  }

  #asCreated({ metadata, ...object }: KubeObject): KubeObject {
    this.#created += 1;
    const creationTimestamp = new Date(Date.now() + 1000 * this.#created).toISOString();
    return { ...object, metadata: { ...metadata, uid: `new ${this.#created}`, creationTimestamp } };
  }
}

function ownerIn(kind: DerivedKind, { spec }: KubeObject): unknown {
  const declared: ManagedSpec = kind.readMembers(spec);
  return kind.owner?.givenIn(declared);
}

/** False only if the owner is certainly another one; the annotations may be out of date. */
function mayBelongTo(owner: unknown, id: string, { metadata }: KubeObject, wanted: string | undefined): boolean {
  if (!(owner instanceof Reference)) return owner === id;
  return wanted === undefined || targetOf({ input: owner }, metadata.namespace ?? '') === wanted;
}

/** The object with the claim that its reconcile would record. */
function claiming(object: KubeObject, id: string): KubeObject {
  if (currentClaim(object)?.id === id) return object;
  const { status: _, metadata, ...rest } = object;
  const annotations = { ...metadata.annotations, [ANNOTATION.externalId]: id };
  return { ...rest, metadata: { ...metadata, annotations } };
}
