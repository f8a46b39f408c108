/** What the operator would do at the API for each object of the files. Reads both sides, and writes nothing. */
import type { Client } from '../../client/client.ts';
import { API_VERSION } from '../contract/names.ts';
import { ownMembers } from '../export/spec-members.ts';
import type { AnyPlainKind } from '../kinds/plain-kind.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { ObjectStore } from '../kube/object-store.ts';
import { idToAdopt } from '../managed/adoption.ts';
import { Blocked, type External, type Remote } from '../managed/external.ts';
import { specPaths } from '../managed/findings.ts';
import { readIdentity } from '../managed/identity.ts';
import { mustBeChangeable } from '../managed/immutable.ts';
import { inputsOf, isReference } from '../managed/inputs/input.ts';
import { Inputs, resourceIdOf } from '../managed/inputs/inputs.ts';
import { ReferenceIndex } from '../managed/inputs/reference-index.ts';
import { isDeleting, isPaused, type ManagedSpec, readSpec, readStatus, shownIdentity } from '../managed/spec.ts';
import type { DesiredCluster, ObjectName } from './desired-cluster.ts';
import type { ManifestDocument } from './manifest-files.ts';
import type { Action, Planned } from './planned.ts';
import { changesOf, mustKnowMembers } from './spec-changes.ts';

export interface PlannerOptions {
  kinds: readonly AnyPlainKind[];
  client: Client;
  cluster: DesiredCluster;
}

/** A spec with what it takes from elsewhere. */
interface Resolved {
  /** As declared. */
  declared: ManagedSpec;
  spec: ManagedSpec;
  /** What its sources hold, by their paths. */
  texts: ReadonlyMap<string, string>;
  /** The objects that it refers to, by the ids of their resources. */
  targets: ReadonlyMap<string, ObjectName>;
}

export class Planner {
  readonly #kinds: ReadonlyMap<string, AnyPlainKind>;
  readonly #client: Client;
  readonly #cluster: DesiredCluster;
  readonly #plans = new Map<ManifestDocument, Promise<Planned>>();

  constructor({ kinds, client, cluster }: PlannerOptions) {
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
    this.#client = client;
    this.#cluster = cluster;
  }

  /** Plans each object once, those that it refers to first. @throws ApiError, KubeError and the like */
  plan(document: ManifestDocument): Promise<Planned> {
    const known = this.#plans.get(document);
    if (known) return known;
    const planned = this.#planUnlessBlocked(document);
    this.#plans.set(document, planned);
    return planned;
  }

  async #planUnlessBlocked(document: ManifestDocument): Promise<Planned> {
    try {
      return await this.#planOne(document);
    } catch (error) {
      if (!(error instanceof Blocked)) throw error;
      return { ...this.#cluster.nameOf(document), action: 'blocked', reason: error.message, changes: [] };
    }
  }

  async #planOne(document: ManifestDocument): Promise<Planned> {
    const name = this.#cluster.nameOf(document);
    const kind = this.#kinds.get(document.kind);
    if (!kind || document.apiVersion !== API_VERSION) {
      throw new Blocked('', `the operator has no kind ${document.kind} of ${document.apiVersion}`);
    }
    const object = await this.#cluster.applied(kind, document);
    const none = (reason: string): Planned => ({ ...name, action: 'none', reason, changes: [] });
    if (isDeleting(object)) throw new Blocked('', 'the object is being deleted');
    if (isPaused(object)) return none('paused');
    mustKnowMembers(kind, object.spec);
    const declared: ManagedSpec = readSpec(kind.spec, object);
    if (declared.managementPolicy === 'Observe') return none('only observed');
    const resolved = await this.#resolve(kind, object, declared);
    const { action, remote, reason, changed } = await this.#decide(kind, object, resolved.spec);
    const sources = readStatus(object).sources ?? [];
    const changes = changesOf(kind, {
      ...resolved,
      namespace: name.namespace,
      remote,
      members: changed ?? ownMembers(kind).map(([member]) => member),
      secretBefore: sources.filter((source) => source.kind === 'Secret').map(({ field }) => field),
    });
    return { ...name, action, id: remote?.id, reason, changes };
  }

  async #decide(kind: AnyPlainKind, object: KubeObject, spec: ManagedSpec): Promise<Decision> {
    const external: External<ManagedSpec, Remote> = kind.external(this.#client);
    const id = readIdentity(object).externalId ?? shownIdentity(object)?.externalId;
    const adopted = id === undefined ? idToAdopt(object) : undefined;
    if (adopted !== undefined) return adoption(external, spec, adopted);
    if (id === undefined) return { action: 'create' };
    const remote = await external.observe(id);
    if (!remote) {
      const isVisible = (await external.sight()) === 'everything';
      if (!isVisible) throw new Blocked('', `${id} does not exist, or the API key may not see it`);
      return { action: 'create', reason: `${id} no longer exists` };
    }
    const replacing = external.replacingChanges(spec, remote);
    const changed = external.changes(spec, remote);
    if (replacing.length > 0) {
      return { action: 'replace', remote, changed, reason: `${specPaths(replacing)} changed, which ${id} cannot take` };
    }
    mustBeChangeable(external, spec, remote);
    return { action: changed.length > 0 ? 'change' : 'none', remote, changed };
  }

  async #resolve(kind: AnyPlainKind, object: KubeObject, declared: ManagedSpec): Promise<Resolved> {
    const references = inputsOf(declared).filter(isReference);
    const namespace = object.metadata.namespace ?? '';
    const crossing = references.some(({ input }) => (input.namespace ?? namespace) !== namespace);
    const texts = new Map<string, string>();
    const grants = crossing ? await this.#cluster.grants() : [];
    const inputs = new Inputs({
      index: new ReferenceIndex(),
      sources: { reader: (from) => recording(this.#cluster.reader(from), texts), versionOf: () => undefined },
      grants: new Map(grants.entries()),
      // Nothing is compared with what was sent before: the API itself is asked.
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
      inputs.addPeer(name, { store, specIfValid: () => undefined, enqueue: () => {} });
    }
    const { spec } = await inputs.resolve(kind.kind, object, declared);
    return { declared, spec, texts, targets };
  }

  /** The object as it will be, with the id that its resource will have. */
  async #target(name: ObjectName): Promise<KubeObject | undefined> {
    const kind = this.#kinds.get(name.kind);
    if (!kind) return undefined;
    const document = this.#cluster.document(name);
    if (!document) return this.#cluster.find(kind, name);
    const [object, planned] = await Promise.all([this.#cluster.applied(kind, document), this.plan(document)]);
    const id = idAfter(planned);
    return id === undefined ? object : { ...object, status: { id } };
  }
}

interface Decision {
  action: Action;
  remote?: Remote;
  reason?: string;
  /** The members that differ from those of the resource; undefined if there is none. */
  changed?: readonly string[];
}

type Reader = ReturnType<DesiredCluster['reader']>;

/** The same reader; what it reads is also stored, by path. */
function recording(read: Reader, texts: Map<string, string>): Reader {
  return async (source, path) => {
    const found = await read(source, path);
    texts.set(path, found.text);
    return found;
  };
}

/** As the reconcile adopts. @throws Blocked when that cannot be */
async function adoption(external: External<ManagedSpec, Remote>, spec: ManagedSpec, id: string): Promise<Decision> {
  if (!external.isId(id)) throw new Blocked('', `${id}, which is to be adopted, is no id of this kind`);
  const remote = await external.observe(id);
  if (!remote) throw new Blocked('', `${id}, which is to be adopted, does not exist`);
  mustBeChangeable(external, spec, remote);
  const changed = external.changes(spec, remote);
  return { action: changed.length > 0 ? 'change' : 'none', remote, changed, reason: 'adopted' };
}

/** Undefined while that is not known. */
function idAfter({ action, id, kind, namespace, name }: Planned): string | undefined {
  const isNew = action === 'create' || action === 'replace';
  return isNew ? `the id of the new ${kind} ${namespace}/${name}` : id;
}
