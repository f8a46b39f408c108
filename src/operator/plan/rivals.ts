/** Objects that claim what an object of the files is to manage, in the cluster with the files applied. */

import { ANNOTATION } from '../contract/names.ts';
import { type DerivedKind, isAttached } from '../export/spec-members.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { ObjectStore } from '../kube/object-store.ts';
import { Claims, claimIn } from '../managed/claims.ts';
import type { External, Remote } from '../managed/external.ts';
import { conflictWith, isCreatedIn } from '../managed/rivals.ts';
import type { ManagedSpec } from '../managed/spec.ts';

export interface RivalsOptions {
  /** Those that the cluster has of the kind, with the files applied. */
  existing(kind: DerivedKind): Promise<readonly KubeObject[]>;
  mayAdopt(namespace: string): boolean;
}

interface Claimants {
  readonly store: ObjectStore;
  readonly claims: Claims;
}

export class Rivals {
  readonly #options: RivalsOptions;
  readonly #claimants = new Map<string, Promise<Claimants>>();
  #created = 0;

  constructor(options: RivalsOptions) {
    this.#options = options;
  }

  /**
   * Of several objects that are yet to be created, the one that is asked for first is the oldest: ask in their order.
   * @throws Blocked when another object keeps this one from what it claims
   */
  async mustHaveNone(
    kind: DerivedKind,
    external: Pick<External<ManagedSpec, Remote>, 'scope'>,
    object: KubeObject,
    spec: ManagedSpec,
  ): Promise<void> {
    const id = isAttached(kind) ? kind.ownerOf?.(spec) : claimIn(object)?.id;
    if (id === undefined) return;
    const { store, claims } = await this.#claimantsOf(kind);
    const isNew = object.metadata.uid === '';
    const claimant = claiming(isNew ? this.#asCreated(object) : object, id);
    if (isNew) for (const change of store.put(claimant)) claims.onChange(change);
    const rival = claims.rivalOf(claimant);
    if (!rival) return;
    if (!isNew && isCreatedIn(await external.scope(object.metadata.uid), id)) return;
    throw conflictWith(rival, kind.kind, id);
  }

  #claimantsOf(kind: DerivedKind): Promise<Claimants> {
    const known = this.#claimants.get(kind.kind) ?? this.#read(kind);
    this.#claimants.set(kind.kind, known);
    return known;
  }

  async #read(kind: DerivedKind): Promise<Claimants> {
    const store = new ObjectStore();
    const specIfValid = (object: KubeObject): ManagedSpec | undefined => kind.spec.safeParse(object.spec ?? {}).data;
    // What a claim of modules names is what the spec refers to.
    const claims = new Claims({ specIfValid, belongsTo: () => isAttached(kind) }, store, this.#options.mayAdopt);
    for (const object of await this.#options.existing(kind)) {
      for (const change of store.put(object)) claims.onChange(change);
    }
    return { store, claims };
  }

  #asCreated({ metadata, ...object }: KubeObject): KubeObject {
    this.#created += 1;
    const creationTimestamp = new Date(Date.now() + 1000 * this.#created).toISOString();
    return { ...object, metadata: { ...metadata, uid: `new ${this.#created}`, creationTimestamp } };
  }
}

/** The object with the claim that its reconcile would record. */
function claiming(object: KubeObject, id: string): KubeObject {
  if (claimIn(object)?.id === id) return object;
  const { status: _, metadata, ...rest } = object;
  const annotations = { ...metadata.annotations, [ANNOTATION.externalId]: id };
  return { ...rest, metadata: { ...metadata, annotations } };
}
