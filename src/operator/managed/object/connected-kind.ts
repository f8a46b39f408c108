/** A declared kind with the clients that its objects need: the management API, Secrets, and the caches of other kinds. */
import type { Client } from '../../../client/client.ts';
import { GROUP, VERSION } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import type { ResourceType } from '../../kube/kube-api.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { type Delivery, type External, type Finding, mayExist, type Remote } from '../declaration/external.ts';
import { inputsOf, isReference, isSource, Reference } from '../declaration/input.ts';
import type { AnyKind } from '../declaration/kind.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { NO_TERMS, type SpecTerms } from '../declaration/spec-terms.ts';
import { claimedId } from '../identity/identity.ts';
import { readStatus, type UsedReference } from '../identity/recorded-status.ts';
import { earliest } from '../identity/schedule.ts';
import { type Inputs, resourceIdOf } from '../knowledge/inputs.ts';
import type { SecretSpec } from '../secrets/content.ts';
import type { SecretAccess } from '../secrets/secret-access.ts';
import { SecretDelivery } from '../secrets/secret-delivery.ts';
import { columnTexts } from './column-texts.ts';

/** By the spec of an object, which never changes: the parsed spec, or none if that is invalid. */
type ParsedSpecs = WeakMap<object, { readonly spec: ManagedSpec | undefined }>;

export class ConnectedKind {
  readonly declared: AnyKind;
  /** The time by the clock of the API, which all due times are compared with. */
  readonly now: () => Date;
  /** The `kind` of its manifests. */
  readonly name: string;
  readonly type: ResourceType;
  readonly external: External<ManagedSpec, Remote>;
  readonly delivery: Delivery<ManagedSpec, Remote> | undefined;
  readonly inputs: Inputs;
  /** Whether its objects are the modules of another resource, their owner. */
  readonly isAttached: boolean;
  readonly #secrets: SecretAccess;
  readonly #specs: ParsedSpecs;
  /** By client: this kind at the APIs of other connections. */
  readonly #others = new WeakMap<Client, ConnectedKind>();

  constructor(
    declared: AnyKind,
    client: Client,
    secrets: SecretAccess,
    inputs: Inputs,
    specs: ParsedSpecs = new WeakMap(),
  ) {
    this.declared = declared;
    this.#secrets = secrets;
    this.#specs = specs;
    this.#others.set(client, this);
    this.now = client.now;
    this.name = declared.kind;
    this.type = { group: GROUP, version: VERSION, plural: declared.plural };
    this.external = declared.external(client);
    const exists = (id: string) => mayExist(this.external, id);
    // The specs of kinds that hand something out say where to store it.
    this.delivery =
      declared.delivery && new SecretDelivery<ManagedSpec & SecretSpec, Remote>(declared.delivery, secrets, exists);
    this.inputs = inputs;
    this.isAttached = declared.owner !== undefined;
  }

  /** The same kind at the API of another connection. */
  through(client: Client): ConnectedKind {
    const known = this.#others.get(client);
    if (known) return known;
    const other = new ConnectedKind(this.declared, client, this.#secrets, this.inputs, this.#specs);
    this.#others.set(client, other);
    return other;
  }

  /**
   * For modules: whether the owner that the object names has the id, and the object may refer to it.
   * @param mayNameIds whether its namespace may name resources by their ids, in specs and in annotations
   */
  belongsTo(object: KubeObject, id: string, mayNameIds: boolean): boolean {
    const owner = this.declared.owner?.givenIn(this.membersOf(object));
    if (!(owner instanceof Reference)) return mayNameIds && owner === id;
    if (!this.inputs.mayReferTo(this.name, object, owner)) return false;
    const { namespace = object.metadata.namespace, name } = owner;
    const target = this.inputs.peer(owner.kind)?.store.get(`${namespace}/${name}`);
    if (!target) return false;
    // An owner that was restored without its status does not show its id yet, but its annotations name it.
    return (resourceIdOf(target) ?? (mayNameIds ? claimedId(target) : undefined)) === id;
  }

  /** What the object refers to, by name. */
  referencesIn(object: KubeObject): Reference[] {
    return inputsOf(this.membersOf(object))
      .filter(isReference)
      .map(({ input }) => input);
  }

  /** The modules that the object declares for its owner, by their names in the API. */
  modulesIn(object: KubeObject): readonly string[] {
    const spec = this.membersOf(object);
    return (spec.managementPolicy === 'Manage' && this.declared.owner?.modulesIn(spec)) || [];
  }

  /** The spec with values from the caches, and digests of texts; undefined if only a reconcile can resolve it. */
  comparableSpec(object: KubeObject): ManagedSpec | undefined {
    const spec = this.specIfValid(object);
    return spec && this.inputs.fromCaches(this.name, object, spec, readStatus(object).sources ?? []);
  }

  /** The ids that the object's references stand for now; undefined if one of them cannot be resolved. */
  referencesOf(object: KubeObject): UsedReference[] | undefined {
    return this.inputs.referencesOf(this.name, object, this.specIfValid(object));
  }

  /** The terms in which to report the API's errors about the object's resource. */
  termsOf(object: KubeObject): SpecTerms {
    const sources = inputsOf(this.specIfValid(object)).filter(isSource);
    return { spec: object.spec, members: this.declared.memberNames ?? NO_TERMS.members, sources };
  }

  /** Undefined for an invalid spec: the object's own reconcile reports that. */
  specIfValid({ spec: given }: KubeObject): ManagedSpec | undefined {
    if (typeof given !== 'object' || given === null) return this.declared.spec.safeParse(given ?? {}).data;
    const known = this.#specs.get(given);
    if (known) return known.spec;
    const spec = this.declared.spec.safeParse(given).data;
    this.#specs.set(given, { spec });
    return spec;
  }

  /** The spec member by member; an invalid member stays as given, so that the others can still be used. */
  membersOf(object: KubeObject): ManagedSpec {
    return this.specIfValid(object) ?? this.declared.readMembers(object.spec);
  }

  /** The values of the status for the observed resource. */
  describe(spec: ManagedSpec, remote: Remote, object: KubeObject): Record<string, unknown> {
    const described: Record<string, unknown> = this.declared.describe(spec, remote, object);
    const isDelivered = this.delivery !== undefined && described.secretName !== undefined;
    const secretName = isDelivered ? { secretName: this.delivery.nameFor(object, spec) } : {};
    return { ...described, ...secretName, ...columnTexts(this.declared.printerColumns, object, described) };
  }

  /** When to look again without an event: when the resource ends, or when the service may have changed it. */
  refreshAt(remote: Remote, now: Date): Date | undefined {
    const end = this.#endOf(remote);
    return earliest(this.declared.refreshAt?.(remote, now), end && end > now ? end : undefined);
  }

  /** When the handed-out value is to be replaced, for an object in sync. */
  renewsAt(object: KubeObject, spec: ManagedSpec, remote: Remote, now: Date): Date | undefined {
    if (spec.managementPolicy !== 'Manage') return undefined;
    const { due, at } = this.delivery?.renewal(object, spec, remote, now) ?? {};
    return due ? now : at;
  }

  /** What Ready says of an expired resource; undefined if it has not expired. */
  expired(remote: Remote, now: Date): Finding | undefined {
    const { end } = this.declared;
    const endsAt = this.#endOf(remote);
    if (!end || !endsAt || endsAt > now) return undefined;
    const message = `${end.what?.(remote) ?? remote.id} expired at ${end.of(remote)}: ${end.remedy}`;
    return { status: 'False', reason: REASON.expired, message };
  }

  /** Undefined if the resource does not expire. */
  #endOf(remote: Remote): Date | undefined {
    const at = this.declared.end?.of(remote);
    return at == null ? undefined : new Date(at);
  }

  /** Whether the token, if the kind has one, is in its Secret according to the caches; never asks the API server. */
  looksHeld(object: KubeObject, spec = this.specIfValid(object)): boolean {
    if (spec?.managementPolicy !== 'Manage') return spec !== undefined;
    return this.delivery?.looksHeld(object, spec) ?? true;
  }
}
