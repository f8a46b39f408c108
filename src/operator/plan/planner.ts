/** What the operator would do at the API for each object of the files. Reads both sides, and writes nothing. */
import { ApiError, type Client } from '../../client/client.ts';
import { API_VERSION, GROUP } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { type DerivedKind, isAttached, ownMembers } from '../export/spec-members.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { ObjectStore } from '../kube/object-store.ts';
import { idToAdopt } from '../managed/adoption.ts';
import { mustMayAdopt } from '../managed/adoption-grant.ts';
import { Blocked, type External, type Remote } from '../managed/external.ts';
import { mustMayHandOut } from '../managed/handing-out-grant.ts';
import { inputsOf, isReference } from '../managed/inputs/input.ts';
import { Inputs, resourceIdOf } from '../managed/inputs/inputs.ts';
import { mustNameNoIds } from '../managed/inputs/named-by-id.ts';
import { ReferenceIndex } from '../managed/inputs/reference-index.ts';
import { isDeleting, isPaused, type ManagedSpec, readSpec, readStatus } from '../managed/spec.ts';
import type { ApiServerCheck } from './api-server-check.ts';
import { decide, decideModules } from './decision.ts';
import type { DeclaredObjects, ObjectName } from './declared-objects.ts';
import type { DesiredCluster } from './desired-cluster.ts';
import { FileOrder, type Turn } from './file-order.ts';
import type { ManifestDocument } from './manifest-files.ts';
import type { NamedResources } from './named-resources.ts';
import type { Planned } from './planned.ts';
import type { Rivals } from './rivals.ts';
import { changesOf, mustKnowMembers } from './spec-changes.ts';

export interface PlannerOptions {
  kinds: readonly DerivedKind[];
  client: Client;
  declared: DeclaredObjects;
  cluster: DesiredCluster;
  apiServer: ApiServerCheck;
  rivals: Rivals;
  named: NamedResources;
  mayAdopt(namespace: string): boolean;
  /** Whether what is handed out may have the rights of a user. */
  mayHandOutUserRights: boolean;
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
  readonly #kinds: ReadonlyMap<string, DerivedKind>;
  readonly #options: PlannerOptions;
  readonly #cluster: DesiredCluster;
  readonly #declared: DeclaredObjects;
  readonly #fileOrder = new FileOrder();
  readonly #plans = new Map<ManifestDocument, Promise<Planned>>();

  constructor(options: PlannerOptions) {
    this.#options = options;
    this.#kinds = new Map(options.kinds.map((kind) => [kind.kind, kind]));
    this.#cluster = options.cluster;
    this.#declared = options.declared;
  }

  /**
   * Plans all at once; each waits for those that it refers to.
   * @returns the plans in the order of the files
   * @throws ApiError, KubeError and the like
   */
  planAll(): Promise<Planned[]> {
    for (const document of this.#declared.all().filter(isOurs)) {
      this.#plans.set(document, this.#planUnlessBlocked(document, this.#fileOrder.enter(document.kind)));
    }
    return Promise.all(this.#plans.values());
  }

  async #planUnlessBlocked(document: ManifestDocument, turn: Turn): Promise<Planned> {
    try {
      return await this.#planOne(document, turn);
    } catch (error) {
      const reason = blockingReason(error);
      if (reason === undefined) throw error;
      return { ...this.#declared.nameOf(document), action: 'blocked', reason, changes: [] };
    } finally {
      turn.end();
    }
  }

  async #planOne(document: ManifestDocument, turn: Turn): Promise<Planned> {
    const name = this.#declared.nameOf(document);
    const contradiction = this.#declared.contradiction(name);
    if (contradiction !== undefined) throw new Blocked(REASON.rejected, contradiction);
    const kind = this.#kinds.get(document.kind);
    if (!kind || document.apiVersion !== API_VERSION) {
      throw new Blocked(REASON.rejected, `the operator has no kind ${document.kind} of ${document.apiVersion}`);
    }
    const object = await this.#cluster.applied(kind, document);
    if (isDeleting(object)) throw new Blocked(REASON.rejected, 'the object is being deleted');
    const isIdle = isPaused(object);
    // Says it in terms of the file; what it cannot know, the API server does.
    if (!isIdle) mustKnowMembers(kind, object.spec);
    const declared: ManagedSpec | undefined = isIdle ? undefined : readSpec(kind.spec, object);
    await this.#options.apiServer.mustAccept(kind, object);
    const none = (reason: string): Planned => ({ ...name, action: 'none', reason, changes: [] });
    if (!declared) return none('paused');
    this.#mustMayAdopt(kind, object);
    if (declared.managementPolicy === 'Observe') return none('only observed');
    const resolved = await this.#resolve(kind, object, declared);
    this.#mustMayHandOut(kind, declared);
    const external: External<ManagedSpec, Remote> = kind.external(this.#options.client);
    // Of new objects that claim the same, the first in the files has it, whichever is answered first.
    await turn.comes;
    await this.#options.rivals.mustHaveNone(kind, external, object, resolved.spec);
    turn.end();
    const decision = isAttached(kind)
      ? await decideModules(kind, external, object, resolved.spec)
      : await decide(external, object, resolved.spec);
    const { action, remote, id = remote?.id, reason, changed } = decision;
    if (action !== 'none') await this.#options.named.mustExist(object, action === 'change' ? remote : undefined);
    const sources = readStatus(object).sources ?? [];
    const changes = changesOf(kind, {
      ...resolved,
      namespace: name.namespace,
      remote,
      members: changed ?? ownMembers(kind).map(([member]) => member),
      secretBefore: sources.filter((source) => source.kind === 'Secret').map(({ field }) => field),
    });
    return { ...name, action, id, reason, changes };
  }

  /** @throws Blocked where existing resources may not be taken over or read */
  #mustMayAdopt(kind: DerivedKind, object: KubeObject): void {
    const mayAdopt = this.#options.mayAdopt(object.metadata.namespace ?? '');
    if (!mayAdopt) mustNameNoIds(object);
    if (!isAttached(kind) && idToAdopt(object) !== undefined) mustMayAdopt({ object, mayAdopt });
  }

  #mustMayHandOut({ kind: name, handsOutUserRights = () => false }: DerivedKind, declared: ManagedSpec): void {
    const { mayHandOutUserRights } = this.#options;
    mustMayHandOut({ kind: { name, handsOutUserRights }, mayHandOutUserRights }, declared);
  }

  async #resolve(kind: DerivedKind, object: KubeObject, declared: ManagedSpec): Promise<Resolved> {
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
    const document = this.#declared.document(name);
    if (!document) return this.#cluster.find(kind, name);
    const [object, planned] = await Promise.all([this.#cluster.applied(kind, document), this.#plans.get(document)]);
    const id = planned && idAfter(planned);
    return id === undefined ? object : { ...object, status: { id } };
  }
}

/** The others may be what ours refer to. */
const isOurs = ({ apiVersion }: ManifestDocument) => apiVersion.startsWith(`${GROUP}/`);

/** Why one object cannot be planned, where that says nothing about the others. */
function blockingReason(error: unknown): string | undefined {
  if (error instanceof Blocked) return error.message;
  if (error instanceof KubeError && error.isForbidden) return `could not be looked at: ${error.message}`;
  if (error instanceof ApiError && error.code === 'PERMISSION_DENIED')
    return `could not be looked at with this API key: ${error.message}`;
  return undefined;
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

/** Undefined while that is not known. */
function idAfter({ action, id, kind, namespace, name }: Planned): string | undefined {
  const isNew = action === 'create' || action === 'replace';
  return isNew ? `the id of the new ${kind} ${namespace}/${name}` : id;
}
