/** What a spec takes from elsewhere: from objects of the files and of the cluster, as they will be. */
import type { DerivedKind } from '../export/spec-members.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { ObjectStore } from '../kube/object-store.ts';
import { inputsOf, isReference } from '../managed/declaration/input.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import { Inputs, resourceIdOf } from '../managed/knowledge/inputs.ts';
import { ReferenceIndex } from '../managed/knowledge/reference-index.ts';
import type { DeclaredObjects, ObjectName } from './declared-objects.ts';
import type { DesiredCluster } from './desired-cluster.ts';
import type { Planned } from './planned.ts';

/** A spec with what it takes from elsewhere. */
export interface Resolved {
  /** As declared. */
  declared: ManagedSpec;
  spec: ManagedSpec;
  /** What its sources hold, by their paths. */
  texts: ReadonlyMap<string, string>;
  /** The objects that it refers to, by the ids of their resources. */
  targets: ReadonlyMap<string, ObjectName>;
}

export interface ResolutionOptions {
  kinds: ReadonlyMap<string, DerivedKind>;
  declared: DeclaredObjects;
  cluster: DesiredCluster;
  /** Undefined for an object that is not in the files. */
  planOf(name: ObjectName): Promise<Planned> | undefined;
}

export class Resolution {
  readonly #options: ResolutionOptions;

  constructor(options: ResolutionOptions) {
    this.#options = options;
  }

  /** @throws Blocked if something is not there, and KubeError, KubeUnreachableError */
  async resolve(kind: DerivedKind, object: KubeObject, declared: ManagedSpec): Promise<Resolved> {
    const { cluster } = this.#options;
    const references = inputsOf(declared).filter(isReference);
    const namespace = object.metadata.namespace ?? '';
    const crossing = references.some(({ input }) => (input.namespace ?? namespace) !== namespace);
    const texts = new Map<string, string>();
    const grants = crossing ? await cluster.grants() : [];
    const inputs = new Inputs({
      index: new ReferenceIndex(),
      sources: { reader: (from) => recording(cluster.reader(from), texts), versionOf: () => undefined },
      grants: new Map(grants.entries()),
      // No digests of earlier texts: the plan compares with the API itself.
      digest: () => '',
    });
    const stores = new Map<string, ObjectStore>();
    const targets = new Map<string, ObjectName>();
    for (const { input } of references) {
      const name = { kind: input.kind, namespace: input.namespace ?? namespace, name: input.name };
      const target = await this.#target(name);
      const store = stores.get(name.kind) ?? new ObjectStore();
      stores.set(name.kind, store);
      if (!target) continue;
      store.put(target);
      const id = resourceIdOf(target);
      if (id !== undefined) targets.set(id, name);
    }
    for (const [name, store] of stores) {
      inputs.addPeer(name, { store, enqueue: () => {} });
    }
    const { spec } = await inputs.resolve(kind.kind, object, declared);
    return { declared, spec, texts, targets };
  }

  /** The object as it will be, with the id that its resource will have. */
  async #target(name: ObjectName): Promise<KubeObject | undefined> {
    const { kinds, declared, cluster, planOf } = this.#options;
    const kind = kinds.get(name.kind);
    if (!kind) return undefined;
    const document = declared.document(name);
    if (!document) return cluster.find(kind, name);
    const [{ object }, planned] = await Promise.all([cluster.applied(kind, document), planOf(name)]);
    const id = planned && idAfter(planned);
    return id === undefined ? object : { ...object, status: { id } };
  }
}

type Reader = ReturnType<DesiredCluster['reader']>;

/** The same reader, which also records each text by its path. */
function recording(read: Reader, texts: Map<string, string>): Reader {
  return async (source, path) => {
    const found = await read(source, path);
    texts.set(path, found.text);
    return found;
  };
}

/** Undefined while the id is unknown. */
function idAfter({ action, id, kind, namespace, name }: Planned): string | undefined {
  const isNew = action === 'create' || action === 'replace';
  return isNew ? `the id of the new ${kind} ${namespace}/${name}` : id;
}
