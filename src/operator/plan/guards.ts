/** Holds a route back from its backend until the modules declared for it are set: without them it would serve everyone. */
import { z } from 'zod';
import { type DerivedKind, isAttached } from '../export/spec-members.ts';
import type { AttachedKind } from '../kinds/attached-kind.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { Remote } from '../managed/declaration/external.ts';
import { inputsOf, isReference } from '../managed/declaration/input.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import { isDeleting, isPaused } from '../managed/identity/recorded-status.ts';
import { permits } from '../managed/knowledge/reference-grants.ts';
import { specPaths } from '../managed/object/findings.ts';
import type { ObjectName } from './declared-objects.ts';
import type { Planned } from './planned.ts';

export interface GuardsOptions {
  kinds: readonly DerivedKind[];
  /** The objects of the kind, in the cluster and in the files, with the files applied. */
  all(kind: DerivedKind): Promise<readonly KubeObject[]>;
  /** Undefined for an object that is not in the files. */
  planOf(name: ObjectName): Promise<Planned> | undefined;
  /** The ReferenceGrants of files and cluster. */
  grants(): Promise<readonly KubeObject[]>;
}

/** What may have to wait. */
export interface Guarded {
  readonly kind: DerivedKind;
  readonly spec: ManagedSpec;
  /** Undefined until it exists. */
  readonly remote: Remote | undefined;
}

interface Guard {
  readonly modules: readonly string[];
  /** Whether its reconcile will set the missing modules. */
  readonly willSet: boolean;
}

const requiring = z.looseObject({ requireModules: z.literal(true) });
const withModules = z.looseObject({ modules: z.array(z.string()) });

export class Guards {
  readonly #options: GuardsOptions;
  readonly #objects = new Map<string, Promise<readonly KubeObject[]>>();

  constructor(options: GuardsOptions) {
    this.#options = options;
  }

  /** The plan without the members that wait. */
  async heldBack(planned: Planned, { kind, spec, remote }: Guarded): Promise<Planned> {
    const members = kind.unserved?.(spec, remote) ?? [];
    if (members.length === 0) return planned;
    const guards = await this.#guardsOf(kind, planned, remote === undefined);
    const present = withModules.safeParse(remote).data?.modules ?? [];
    const isGuarded =
      guards.length === 0
        ? present.length > 0 || !requiring.safeParse(spec).success
        : guards.some(({ modules, willSet }) => willSet || modules.every((each) => present.includes(each)));
    if (isGuarded) return planned;
    const paths = members.map((member) => `spec.${member}`);
    const changes = planned.changes.filter(({ path }) => !paths.some((each) => path.startsWith(each)));
    const isNothing = planned.action === 'change' && changes.length === 0;
    const waiting = `${specPaths(members)} waits for modules`;
    const reason = planned.reason === undefined ? waiting : `${planned.reason}; ${waiting}`;
    return { ...planned, action: isNothing ? 'none' : planned.action, reason, changes };
  }

  /** Listed once. */
  #all(kind: DerivedKind): Promise<readonly KubeObject[]> {
    const known = this.#objects.get(kind.kind) ?? this.#options.all(kind);
    this.#objects.set(kind.kind, known);
    return known;
  }

  async #guardsOf(owner: DerivedKind, name: ObjectName, isNew: boolean): Promise<Guard[]> {
    const kinds = this.#options.kinds.filter(isAttached);
    const found = await Promise.all(kinds.map((kind) => this.#guardsOfKind(kind, owner, name, isNew)));
    return found.flat();
  }

  async #guardsOfKind(kind: AttachedKind, owner: DerivedKind, name: ObjectName, isNew: boolean): Promise<Guard[]> {
    if (!('family' in owner) || kind.ownerFamily.name !== owner.family.name) return [];
    const objects = (await this.#all(kind)).filter((object) => !isDeleting(object));
    const guards = objects.map(async (object): Promise<Guard[]> => {
      // Modules with an invalid spec still guard the route.
      const spec: ManagedSpec = kind.readMembers(object.spec);
      const { namespace = '', name: own } = object.metadata;
      const isMeant = inputsOf(spec)
        .filter(isReference)
        .some(({ input }) => isSame({ ...input, namespace: input.namespace ?? namespace }, name));
      const modules = spec.managementPolicy === 'Manage' ? (kind.owner?.modulesIn(spec) ?? []) : [];
      if (!isMeant || modules.length === 0) return [];
      if (!(await this.#mayRefer({ kind: kind.kind, namespace }, name))) return [];
      const plan = await this.#options.planOf({ kind: kind.kind, namespace, name: own });
      // An existing object without a plan of its own has had its chance: something blocks it.
      const willSet = !isPaused(object) && (plan ? plan.action !== 'blocked' : isNew);
      return [{ modules, willSet }];
    });
    return (await Promise.all(guards)).flat();
  }

  /** Modules declared by objects that may not refer to the route do not hold it back. */
  async #mayRefer(from: Pick<ObjectName, 'kind' | 'namespace'>, to: ObjectName): Promise<boolean> {
    if (from.namespace === to.namespace) return true;
    const grants = await this.#options.grants();
    return grants.some((grant) => permits(grant, { from, to }));
  }
}

const isSame = (one: ObjectName, other: ObjectName) =>
  one.kind === other.kind && one.namespace === other.namespace && one.name === other.name;
