/** How a custom resource is declared: one value per kind, in `src/operator/kinds`. */
import { z } from 'zod';
import type { Client } from '../../../client/client.ts';
import type { EventReason } from '../../contract/reasons.ts';
import type { Condition } from '../../kube/conditions.ts';
import type { KubeEvent } from '../../kube/kube-event.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { CelRule } from './cel.ts';
import type { DeclaredDelivery, External, Finding, Remote } from './external.ts';
import { type ManagedSpec, managedRules, managedSpec } from './spec.ts';

export interface PrinterColumn {
  name: string;
  jsonPath: string;
  type: 'string' | 'integer' | 'boolean' | 'date';
  description: string;
  /** 0: always shown; 1: only with `-o wide`. */
  priority?: number;
  /** The list or map that it shows as text. The API server would show it as JSON, so the status has the text. */
  lists?: { readonly in: 'spec' | 'status'; readonly member: string };
}

export interface DnsRecord {
  name: string;
  type: 'CNAME';
  target: string;
}

/** When a resource expires, unless the spec changes. */
export interface End<R extends Remote> {
  /** In RFC 3339, by the clock of the API; null if it has none. */
  of(remote: R): string | null;
  /** What expires then, if not the resource itself. */
  what?(remote: R): string | undefined;
  /** What the user can do after it has expired. */
  remedy: string;
}

/** In the status of kinds whose objects expire. */
const expiresAt = z.string().optional().meta({
  description: 'When it expires, by the clock of the management API; a chain of certificates, when its first does.',
});
export const EXPIRY_STATUS = { expiresAt };

/** Whether objects of the kind expire, or what they refer to. */
export const expires = ({ status }: Pick<AnyKind, 'status'>): boolean => 'expiresAt' in status.shape;

/** The resource whose modules the objects of a kind declare. */
export interface DeclaredOwner<Spec> {
  /** The kind of the owner's objects. */
  kind: string;
  /** How the spec names the owner: a `Reference`, or the id, which references are resolved to. */
  givenIn(spec: Spec): unknown;
  /** The modules that the spec declares, by their names in the API. */
  modulesIn(spec: Spec): readonly string[];
}

/** What a status said before, as far as kinds need it. */
export interface WrittenStatus {
  conditions?: Condition[] | undefined;
  expiresAt?: string | undefined;
}

export interface News {
  type: KubeEvent['type'];
  reason: EventReason;
  message: string;
}

export interface Kind<Spec extends ManagedSpec, R extends Remote> {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly spec: z.ZodType<Spec>;
  /** A spec member by member: as parsed, or as given where it is invalid. */
  readMembers(given: unknown): Spec;
  /** The status without the members of every kind. */
  readonly status: z.ZodObject;
  /** The members of the spec by the names of the API's fields. */
  readonly memberNames?: ReadonlyMap<string, string>;
  /**
   * Whether it is for administrators of the operator alone: in the operator's own namespace, and with the operator's own API
   * key, since its objects have no connection.
   */
  readonly isAdministrative?: boolean;
  /** Rules about the spec as a whole. */
  readonly rules: readonly CelRule[];
  readonly printerColumns: readonly PrinterColumn[];
  external(client: Client): External<Spec, R>;
  /** The values of `status` for the observed resource. */
  describe(spec: Spec, remote: R, object: KubeObject): Record<string, unknown>;
  /** Conditions besides those of every kind, by type. */
  conditions?(spec: Spec, remote: R, now: Date): Record<string, Finding>;
  /** What the service has done by itself since the status was written: shown as Kubernetes Events. */
  news?(remote: R, before: WrittenStatus): readonly News[];
  /** What users should know of a resource that is as the spec says. */
  readyRemarks?(remote: R): readonly string[];
  /** The records to publish in a DNSEndpoint; undefined if there is to be none. */
  dnsRecords?(spec: Spec, remote: R): readonly DnsRecord[] | undefined;
  /** When to look again at what the service changes by itself. */
  refreshAt?(remote: R, now: Date): Date | undefined;
  /** For resources that expire. */
  readonly end?: End<R>;
  /**
   * What Ready says of a resource that matches the spec but cannot do what the spec asks for.
   * @param isFirst whether the object has had no other resource
   */
  unfit?(spec: Spec, remote: R, isFirst: boolean): Finding | undefined;
  /** Whether the resource may be deleted while others refer to it. */
  readonly deletableWhileReferenced?: boolean;
  /** For kinds whose objects are the modules of another resource. */
  readonly owner?: DeclaredOwner<Spec>;
  /** The members that would make the resource start to serve; empty if it already serves. */
  unserved?(spec: Spec, remote: R | undefined): readonly string[];
  /** Whether the handed-out value has the rights of a user at the management API. */
  handsOutUserRights?(spec: Spec): boolean;
  /** The value that the resource hands out, which is stored in a Secret, and when it is replaced. */
  readonly delivery?: DeclaredDelivery<Spec, R>;
}

export type SpecOf<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>> & ManagedSpec;

/**
 * A kind whose own types do not matter: an entry in the list of kinds. Every kind is one, since what it does is declared
 * as methods, whose parameters TypeScript compares in both directions.
 */
export type AnyKind = Kind<ManagedSpec, Remote>;

/** A kind before its names and schemas are derived. */
export interface KindOptions<Shape extends z.ZodRawShape, R extends Remote>
  extends Omit<Kind<SpecOf<Shape>, R>, 'plural' | 'singular' | 'spec' | 'readMembers' | 'status'> {
  /** The spec without the members of every kind. */
  spec: Shape;
  status: z.ZodRawShape;
}

/** Declares a kind. */
export function kind<Shape extends z.ZodRawShape, R extends Remote>(
  options: KindOptions<Shape, R>,
): Kind<SpecOf<Shape>, R> {
  const singular = options.kind.toLowerCase();
  // The shape with the common members is SpecOf<Shape> by construction; zod cannot express that for a generic shape.
  const { connectionRef, ...policies } = managedSpec;
  const { end, isAdministrative = false } = options;
  const shape = { ...options.spec, ...(isAdministrative ? {} : { connectionRef }), ...policies };
  return {
    ...options,
    rules: [...options.rules, ...(isAdministrative ? [] : managedRules)],
    singular,
    plural: pluralOf(singular),
    spec: z.object(shape) as unknown as z.ZodType<SpecOf<Shape>>,
    readMembers: (given) => membersOf(shape, given) as unknown as SpecOf<Shape>,
    status: z.object({ ...(end && EXPIRY_STATUS), ...options.status }),
    describe: (spec, remote, object) => ({
      ...(end && { expiresAt: end.of(remote) ?? undefined }),
      ...options.describe(spec, remote, object),
    }),
  };
}

/** `ippolicies`, `apikeys`, `tlsedgemodules`. */
export function pluralOf(singular: string): string {
  return singular.endsWith('s') ? singular : `${singular.replace(/(?<=[^aeiou])y$/, 'ie')}s`;
}

function membersOf(shape: z.ZodRawShape, given: unknown): Record<string, unknown> {
  const members = new Map(Object.entries(Object(given)));
  const read = Object.entries(shape).map(([name, schema]) => {
    const value: unknown = members.get(name);
    const parsed = z.safeParse(schema, value);
    return [name, parsed.success ? parsed.data : value] as const;
  });
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

/** For modules: the id of their owner, as the resolved spec has it. */
export function ownerIdIn({ owner }: Pick<AnyKind, 'owner'>, spec: ManagedSpec): string {
  return z.string().parse(owner?.givenIn(spec));
}
