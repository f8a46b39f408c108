/** What the operator would do at the API for each object of the files. Reads both sides, and writes nothing. */
import { ApiError, type Client } from '../../client/client.ts';
import { API_VERSION, CONNECTION_KIND, GROUP } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { type DerivedKind, isAttached, ownMembers } from '../export/spec-members.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { Blocked } from '../managed/declaration/external.ts';
import { type ManagedSpec, readSpec } from '../managed/declaration/spec.ts';
import { isDeleting, isPaused, readStatus } from '../managed/identity/recorded-status.ts';
import { requireAdoptionGrant, requireHandOutGrant, requireNoIds } from '../managed/object/permissions.ts';
import { idToAdopt } from '../managed/steps/adoption.ts';
import type { ApiServerCheck } from './api-server-check.ts';
import { type AnyExternal, decide, decideModules, decideObserved, namesOnlyItsOwn, overdue } from './decision.ts';
import type { DeclaredObjects, ObjectName } from './declared-objects.ts';
import type { DesiredCluster } from './desired-cluster.ts';
import { FileOrder, type Turn } from './file-order.ts';
import { type Guarded, Guards } from './guards.ts';
import type { ManifestDocument } from './manifest-files.ts';
import type { NamedResources } from './named-resources.ts';
import type { Planned } from './planned.ts';
import { Resolution } from './resolution.ts';
import type { Rivals } from './rivals.ts';
import type { SecretConflicts } from './secret-conflicts.ts';
import { changesOf, requireKnownMembers } from './spec-changes.ts';
import { observingAgain } from './steady-observation.ts';
import { type Asking, refusedDuplicates } from './unique-values.ts';

export interface PlannerOptions {
  kinds: readonly DerivedKind[];
  client: Client;
  declared: DeclaredObjects;
  cluster: DesiredCluster;
  apiServer: ApiServerCheck;
  rivals: Rivals;
  secrets: SecretConflicts;
  named: NamedResources;
  /** The objects of the kind, in the cluster and in the files, with the files applied. */
  all(kind: DerivedKind): Promise<readonly KubeObject[]>;
  /** The ReferenceGrants of files and cluster, as far as they may be read. */
  grants(): Promise<readonly KubeObject[]>;
  mayAdopt(namespace: string): boolean;
  /** What has to be given for the account that the object uses, if that is not given; undefined otherwise. */
  otherChoice(object: KubeObject): string | undefined;
  /** Whether what is handed out may have the rights of a user. */
  mayHandOutUserRights: boolean;
}

/** The turns of one object. */
interface Turns {
  readonly claiming: Turn;
  /** Shared by all kinds that deliver into Secrets, since two may name one Secret. No such kind refers to another. */
  readonly delivering: Turn | undefined;
}

export class Planner {
  readonly #kinds: ReadonlyMap<string, DerivedKind>;
  readonly #options: PlannerOptions;
  readonly #cluster: DesiredCluster;
  readonly #declared: DeclaredObjects;
  readonly #fileOrder = new FileOrder();
  readonly #plans = new Map<ManifestDocument, Promise<Planned>>();
  readonly #resolution: Resolution;
  readonly #guards: Guards;
  readonly #guarded = new Map<ManifestDocument, Guarded>();
  /** What is asked for by objects that are not blocked. */
  readonly #asked = new Map<ManifestDocument, Omit<Asking, 'planned'>>();
  /** What else is deleted, even if the rest waits. */
  readonly #deleted = new Map<ManifestDocument, readonly string[]>();

  constructor(options: PlannerOptions) {
    this.#options = options;
    this.#kinds = new Map(options.kinds.map((kind) => [kind.kind, kind]));
    this.#cluster = options.cluster;
    this.#declared = options.declared;
    const { kinds, all, grants, declared, cluster } = options;
    const planOf = (name: ObjectName) => {
      const document = declared.document(name);
      return document && this.#plans.get(document);
    };
    this.#guards = new Guards({ kinds, all, planOf, grants });
    this.#resolution = new Resolution({ kinds: this.#kinds, declared, cluster, planOf });
  }

  /**
   * Plans all objects concurrently; each waits for those that it refers to.
   * @returns the plans in the order of the files
   * @throws ApiError, KubeError and the like
   */
  async planAll(): Promise<Planned[]> {
    for (const document of this.#declared.all().filter(isOurs)) {
      this.#plans.set(document, this.#planUnlessBlocked(document, this.#turnsOf(document)));
    }
    const plans = await Promise.all([...this.#plans].map(([document, plan]) => this.#heldBack(document, plan)));
    const refused = refusedDuplicates(
      [...this.#plans.keys()].flatMap((document, at) => {
        const [asked, planned] = [this.#asked.get(document), plans[at]];
        return asked && planned ? [{ ...asked, planned }] : [];
      }),
    );
    return plans.map((planned) => refused.get(planned) ?? planned);
  }

  /** Runs last, when the plans of all objects are known: some wait for others. */
  async #heldBack(document: ManifestDocument, plan: Promise<Planned>): Promise<Planned> {
    const guarded = this.#guarded.get(document);
    const planned = guarded ? await this.#guards.heldBack(await plan, guarded) : await plan;
    return withDeleted(planned, this.#deleted.get(document) ?? []);
  }

  #turnsOf({ kind }: ManifestDocument): Turns {
    const delivers = this.#kinds.get(kind)?.delivery !== undefined;
    return {
      claiming: this.#fileOrder.enter(kind),
      delivering: delivers ? this.#fileOrder.enter('Secret') : undefined,
    };
  }

  async #planUnlessBlocked(document: ManifestDocument, turns: Turns): Promise<Planned> {
    try {
      return await this.#planOne(document, turns);
    } catch (error) {
      const reason = blockingReason(error);
      if (reason === undefined) throw error;
      return { ...this.#declared.nameOf(document), action: 'blocked', reason, changes: [] };
    } finally {
      turns.claiming.end();
      turns.delivering?.end();
    }
  }

  async #planOne(document: ManifestDocument, { claiming, delivering }: Turns): Promise<Planned> {
    const name = this.#declared.nameOf(document);
    const contradiction = this.#declared.contradiction(name);
    if (contradiction !== undefined) throw new Blocked(REASON.rejected, contradiction);
    const kind = this.#kinds.get(document.kind);
    if (!kind || document.apiVersion !== API_VERSION) {
      throw new Blocked(REASON.rejected, `the operator has no kind ${document.kind} of ${document.apiVersion}`);
    }
    const application = await this.#cluster.applied(kind, document);
    if (isDeleting(application.object)) throw new Blocked(REASON.rejected, 'the object is being deleted');
    if (!isPaused(application.object)) {
      // These messages use the terms of the file; the API server checks the rest.
      requireKnownMembers(kind, document.spec);
      readSpec(kind.spec, application.object);
    }
    const object = await this.#options.apiServer.accepted(kind, application);
    if (isPaused(object)) {
      await claiming.comes;
      await this.#options.rivals.enter(kind, object);
      return { ...name, action: 'none', reason: 'paused', changes: [] };
    }
    const declared: ManagedSpec = readSpec(kind.spec, object);
    const external = observingAgain(kind.external(this.#options.client));
    await this.#requireAdoptionGrant(kind, external, object);
    const resolved = await this.#resolution.resolve(kind, object, declared);
    const deleted = overdue(await this.#cluster.find(kind, name), object);
    if (declared.managementPolicy === 'Observe') {
      const decision = await decideObserved(kind, external, object, resolved.spec);
      this.#deleted.set(document, deleted);
      return { ...name, ...decision, changes: [] };
    }
    requireHandOutGrant(kind, declared, this.#options.mayHandOutUserRights);
    // If several new objects claim one resource, the first in the files gets it, in whatever order the servers answer.
    await claiming.comes;
    await this.#options.rivals.mustHaveNone(kind, external, object, resolved.spec);
    claiming.end();
    const decision = isAttached(kind)
      ? await decideModules(kind, external, object, resolved.spec)
      : await decide(kind.delivery, external, object, resolved.spec, this.#options.otherChoice(object));
    const { action, remote, id = remote?.id, reason, changed } = decision;
    if (action !== 'none') await this.#options.named.mustExist(object, action === 'change' ? remote : undefined);
    if (kind.delivery && delivering) {
      const delivery = { handout: kind.delivery.handout, external, object, spec: resolved.spec, decision };
      await this.#options.secrets.mustHaveNone(delivery, delivering.comes);
    }
    const sources = readStatus(object).sources ?? [];
    const changes = changesOf(kind, {
      ...resolved,
      namespace: name.namespace,
      remote,
      members: changed ?? ownMembers(kind).map(([member]) => member),
      secretBefore: sources.filter((source) => source.kind === 'Secret').map(({ field }) => field),
    });
    this.#asked.set(document, { kind, spec: resolved.spec });
    if (kind.unserved) this.#guarded.set(document, { kind, spec: resolved.spec, remote });
    this.#deleted.set(document, deleted);
    return { ...name, action, id, reason, changes };
  }

  /** @throws Blocked where existing resources may not be taken over or read */
  async #requireAdoptionGrant(kind: DerivedKind, external: AnyExternal, object: KubeObject): Promise<void> {
    const mayAdopt = this.#options.mayAdopt(object.metadata.namespace ?? '');
    if (mayAdopt) return;
    requireNoIds(object);
    if (isAttached(kind)) return;
    const isAdoption = idToAdopt(object) !== undefined || !(await namesOnlyItsOwn(external, object));
    if (isAdoption) requireAdoptionGrant({ object, mayAdopt });
  }
}

/** Others may be targets of references, or connections, which change nothing at the API. */
const isOurs = ({ apiVersion, kind }: ManifestDocument) =>
  apiVersion.startsWith(`${GROUP}/`) && kind !== CONNECTION_KIND.own && kind !== CONNECTION_KIND.shared;

/** @param deleted ids that are deleted as well */
function withDeleted(planned: Planned, deleted: readonly string[]): Planned {
  if (deleted.length === 0) return planned;
  const reasons = [planned.reason ?? [], deleted.map((id) => `${id}, which is superseded, is deleted`)].flat();
  return { ...planned, action: planned.action === 'none' ? 'change' : planned.action, reason: reasons.join('; ') };
}

/** Why this object cannot be planned, for failures that do not affect the others. */
function blockingReason(error: unknown): string | undefined {
  if (error instanceof Blocked) return error.message;
  if (error instanceof KubeError && error.isForbidden) return `could not be looked at: ${error.message}`;
  if (error instanceof ApiError && error.code === 'PERMISSION_DENIED')
    return `could not be looked at with this API key: ${error.message}`;
  return undefined;
}
