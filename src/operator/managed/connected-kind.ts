/** A declared kind connected to the management API and to the Secrets that it delivers to. */
import type { Client } from '../../client/client.ts';
import { GROUP, VERSION } from '../contract/names.ts';
import type { ResourceType } from '../kube/kube-api.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { Companion } from './companion.ts';
import { type Delivery, type External, type Finding, mayExist, type Remote } from './external.ts';
import { claimedId } from './identity.ts';
import { inputsOf, isReference, isSource, Reference } from './inputs/input.ts';
import { type Inputs, type Resolved, resourceIdOf } from './inputs/inputs.ts';
import type { UsedReference } from './inputs/used-inputs.ts';
import type { AnyKind } from './kind.ts';
import { earliest } from './schedule.ts';
import type { SecretAccess } from './secrets/secret-access.ts';
import { type ManagedSpec, readSpec, readStatus } from './spec.ts';
import { NO_TERMS, type SpecTerms } from './spec-terms.ts';
import { expired, msToEnd } from './term.ts';

export class ConnectedKind {
  /** The `kind` of its manifests. */
  readonly name: string;
  readonly type: ResourceType;
  readonly external: External<ManagedSpec, Remote>;
  readonly delivery: Delivery<ManagedSpec, Remote> | undefined;
  readonly inputs: Inputs;
  readonly #declared: AnyKind;

  constructor(declared: AnyKind, client: Client, secrets: SecretAccess, inputs: Inputs) {
    this.name = declared.kind;
    this.type = { group: GROUP, version: VERSION, plural: declared.plural };
    this.external = declared.external(client);
    this.delivery = declared.delivery?.into(secrets, (id) => mayExist(this.external, id));
    this.inputs = inputs;
    this.#declared = declared;
  }

  /** Whether the resource may be deleted while others refer to it. */
  get isDeletableWhileReferenced(): boolean {
    return this.#declared.deletableWhileReferenced ?? false;
  }

  /** Whether objects have no resource of their own, but settings of one that they refer to. */
  get isAttached(): boolean {
    return this.#declared.ownerOf !== undefined;
  }

  /** For attached kinds: the kind of what their objects refer to. */
  get ownerKind(): string | undefined {
    return this.#declared.owner?.kind;
  }

  /** For attached kinds: the id of the resource whose settings the object declares. */
  ownerOf(spec: ManagedSpec): string {
    const { ownerOf } = this.#declared;
    if (!ownerOf) throw new Error(`${this.name} has resources of its own`);
    return ownerOf(spec);
  }

  /**
   * For attached kinds: whether the object refers to what has the id, and may do so.
   * @param mayNameIds whether its namespace may name resources by their ids, in specs and in annotations
   */
  belongsTo(object: KubeObject, id: string, mayNameIds: boolean): boolean {
    const owner = this.#declared.owner?.givenIn(this.membersOf(object));
    if (!(owner instanceof Reference)) return mayNameIds && owner === id;
    if (!this.inputs.mayReferTo(this.name, object, owner)) return false;
    const { namespace = object.metadata.namespace, name } = owner;
    const target = this.inputs.peer(owner.kind)?.store.get(`${namespace}/${name}`);
    if (!target) return false;
    // An owner that was restored without its status does not show its id yet, but its annotations name it.
    return (resourceIdOf(target) ?? (mayNameIds ? claimedId(target) : undefined)) === id;
  }

  /** Whether what the object hands out would have the rights of a user at the management API. */
  handsOutUserRights(spec: ManagedSpec): boolean {
    return this.#declared.handsOutUserRights?.(spec) ?? false;
  }

  /** What the object refers to, by name. */
  referencesIn(object: KubeObject): Reference[] {
    return inputsOf(this.membersOf(object))
      .filter(isReference)
      .map(({ input }) => input);
  }

  /** The modules that the object declares for what it refers to, by their names in the API. */
  modulesIn(object: KubeObject): readonly string[] {
    const spec = this.membersOf(object);
    return (spec.managementPolicy === 'Manage' && this.#declared.modulesOf?.(spec)) || [];
  }

  /** Whether there are members by which its resources begin to serve. */
  get serves(): boolean {
    return this.#declared.unserved !== undefined;
  }

  /** The members by which the resource would begin to serve, if it does not yet. */
  unserved(spec: ManagedSpec, remote: Remote | undefined): readonly string[] {
    return this.#declared.unserved?.(spec, remote) ?? [];
  }

  /** What belongs to an object of this kind, as Events name it. */
  nameOf(id: string): string {
    return this.isAttached ? `the modules of ${id}` : id;
  }

  /** @throws Blocked naming every invalid field */
  readSpec(object: KubeObject): ManagedSpec {
    return readSpec(this.#declared.spec, object);
  }

  /** The spec with what it takes from elsewhere. @throws Blocked if something of that is not there */
  resolve(object: KubeObject, spec: ManagedSpec): Promise<Resolved<ManagedSpec>> {
    return this.inputs.resolve(this.name, object, spec);
  }

  /** The same according to the caches, with digests of texts; undefined if that takes a reconcile to find out. */
  comparableSpec(object: KubeObject): ManagedSpec | undefined {
    const spec = this.specIfValid(object);
    return spec && this.inputs.fromCaches(this.name, object, spec, readStatus(object).sources ?? []);
  }

  /** What the object's references stand for by now; undefined where one of them stands for nothing. */
  referencesOf(object: KubeObject): UsedReference[] | undefined {
    return this.inputs.referencesOf(this.name, object, this.specIfValid(object));
  }

  /** How what the API says about the object's resource is told. */
  termsOf(object: KubeObject): SpecTerms {
    const sources = inputsOf(this.specIfValid(object)).filter(isSource);
    return { spec: object.spec, members: this.#declared.memberNames ?? NO_TERMS.members, sources };
  }

  /** Undefined for an invalid spec: the object's own reconcile reports that. */
  specIfValid(object: KubeObject): ManagedSpec | undefined {
    return this.#declared.spec.safeParse(object.spec ?? {}).data;
  }

  /** The spec, of which what is invalid is as it was given: the rest of it counts for others, whatever else is wrong. */
  membersOf(object: KubeObject): ManagedSpec {
    return this.specIfValid(object) ?? this.#declared.readMembers(object.spec);
  }

  /** What the status shows of the resource, besides id, uri and conditions. */
  describe(spec: ManagedSpec, remote: Remote, object: KubeObject): Record<string, unknown> {
    return this.#declared.describe(spec, remote, object);
  }

  /** Conditions beside those of every kind. */
  conditions(spec: ManagedSpec, remote: Remote): Record<string, Finding> {
    return this.#declared.conditions?.(spec, remote) ?? {};
  }

  /** An object of another API group that is written beside the resource. */
  get companion(): Companion<ManagedSpec, Remote> | undefined {
    return this.#declared.companion;
  }

  /** When to look again, though nothing reports a change: the service makes some by itself, and time passes. */
  refreshAt(remote: Remote, now: Date): Date | undefined {
    const endsIn = msToEnd(this.#declared.end, remote, now) ?? 0;
    const end = endsIn > 0 ? new Date(now.getTime() + endsIn) : undefined;
    return earliest(this.#declared.refreshAt?.(remote, now), end);
  }

  /** When what the resource hands out is to be replaced: told of an object in sync, as far as the caches know. */
  renewsAt(object: KubeObject, spec: ManagedSpec, remote: Remote, now: Date): Date | undefined {
    if (spec.managementPolicy !== 'Manage') return undefined;
    const { due, at } = this.delivery?.renewal(object, spec, remote, now) ?? {};
    return due ? now : at;
  }

  /** What Ready says of a resource that has come to its end; undefined if it has not. */
  expired(remote: Remote, now: Date): Finding | undefined {
    const { end } = this.#declared;
    const endsIn = msToEnd(end, remote, now);
    return end && endsIn !== undefined && endsIn <= 0 ? expired(remote, end) : undefined;
  }

  /** Whether, according to the caches, the token is in its Secret, if it is to be; never asks the API server. */
  looksHeld(object: KubeObject, spec = this.specIfValid(object)): boolean {
    if (spec?.managementPolicy !== 'Manage') return spec !== undefined;
    return this.delivery?.looksHeld(object, spec) ?? true;
  }
}
