/** How a custom resource is declared: one value per kind, in `src/operator/kinds`. */
import { z } from 'zod';
import type { Client } from '../../client/client.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { CelRule } from './cel.ts';
import type { Companion } from './companion.ts';
import type { Delivery, External, Finding, Remote } from './external.ts';
import type { SecretAccess } from './secrets/secret-access.ts';
import { type ManagedSpec, managedSpec } from './spec.ts';

export interface PrinterColumn {
  name: string;
  jsonPath: string;
  type: 'string' | 'integer' | 'boolean' | 'date';
  description: string;
  /** 0: always shown; 1: only with `-o wide`. */
  priority?: number;
}

/** The end of a resource's term, which nothing but another spec puts off. */
export interface End<R extends Remote> {
  /** In RFC 3339, by the clock of the API; null if it has none. */
  of: (remote: R) => string | null;
  /** What to do when it has come. */
  remedy: string;
}

export interface KindDefinition<Shape extends z.ZodRawShape, R extends Remote> {
  kind: string;
  plural: string;
  singular: string;
  shortNames: readonly string[];
  description: string;
  /** The spec without the members of every kind. */
  spec: Shape;
  /** The status without the members of every kind. */
  status: z.ZodRawShape;
  /** The members of the spec by the names of the API's fields. */
  memberNames?: ReadonlyMap<string, string>;
  /** Rules about the spec as a whole. */
  rules: readonly CelRule[];
  printerColumns: readonly PrinterColumn[];
  external(client: Client): External<SpecOf<Shape>, R>;
  /** The values of `status` for the observed resource. */
  describe(spec: SpecOf<Shape>, remote: R, object: KubeObject): Record<string, unknown>;
  /** Conditions beside those of every kind, by type. */
  conditions?: (spec: SpecOf<Shape>, remote: R) => Record<string, Finding>;
  /** An object of another API group that is written beside the resource. */
  companion?: Companion<SpecOf<Shape>, R>;
  /** When to look again at what the service changes by itself. */
  refreshAt?: (remote: R, now: Date) => Date | undefined;
  /** For resources that stop being of use by themselves. */
  end?: End<R>;
  /** Whether the resource may be deleted while others refer to it. */
  deletableWhileReferenced?: boolean;
  /** For kinds whose objects have no resource of their own, but settings of one that they refer to: the id of that. */
  ownerOf?: (spec: SpecOf<Shape>) => string;
  /** For those kinds: the kind of what they refer to, and how the spec does, by id or by name. */
  owner?: { kind: string; givenIn(spec: SpecOf<Shape>): unknown };
  /** For those kinds: the modules that the spec declares, by their names in the API. */
  modulesOf?: (spec: SpecOf<Shape>) => readonly string[];
  /** The members by which the resource would begin to serve, if it does not yet; undefined where there are none. */
  unserved?: (spec: SpecOf<Shape>, remote: R | undefined) => readonly string[];
  /** Whether what the object hands out would have the rights of a user at the management API; never, unless told. */
  handsOutUserRights?: (spec: SpecOf<Shape>) => boolean;
  /** For kinds with a one-time token. */
  delivery?: DeclaredDelivery<SpecOf<Shape>, R>;
}

/** What is known of a delivery without the cluster. */
export interface DeclaredDelivery<Spec, R extends Remote> extends Pick<Delivery<Spec, R>, 'handout' | 'renewal'> {
  /** The same with the Secrets that it writes. */
  into(secrets: SecretAccess, mayExist: (id: string) => Promise<boolean>): Delivery<Spec, R>;
}

export type SpecOf<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>> & ManagedSpec;

export interface Kind<Spec extends ManagedSpec, R extends Remote>
  extends Omit<
    KindDefinition<z.ZodRawShape, R>,
    | 'spec'
    | 'status'
    | 'external'
    | 'describe'
    | 'conditions'
    | 'companion'
    | 'ownerOf'
    | 'owner'
    | 'modulesOf'
    | 'unserved'
    | 'handsOutUserRights'
    | 'delivery'
  > {
  readonly spec: z.ZodType<Spec>;
  /** A spec member by member: as parsed, or as it was given where it is invalid. */
  readMembers(given: unknown): Spec;
  readonly status: z.ZodObject;
  external(client: Client): External<Spec, R>;
  describe(spec: Spec, remote: R, object: KubeObject): Record<string, unknown>;
  conditions?: (spec: Spec, remote: R) => Record<string, Finding>;
  readonly companion?: Companion<Spec, R> | undefined;
  ownerOf?: (spec: Spec) => string;
  readonly owner?: { kind: string; givenIn(spec: Spec): unknown };
  modulesOf?: (spec: Spec) => readonly string[];
  unserved?: (spec: Spec, remote: R | undefined) => readonly string[];
  handsOutUserRights?: (spec: Spec) => boolean;
  readonly delivery?: DeclaredDelivery<Spec, R> | undefined;
}

/** A kind whose own types do not matter: an entry in the list of kinds. */
// biome-ignore lint/suspicious/noExplicitAny: a heterogeneous list needs an existential type, which TypeScript lacks
export type AnyKind = Kind<any, any>;

/** Declares a kind. */
export function kind<Shape extends z.ZodRawShape, R extends Remote>(
  definition: KindDefinition<Shape, R>,
): Kind<SpecOf<Shape>, R> {
  // The shape with the common members is SpecOf<Shape> by construction; zod cannot express that for a generic shape.
  const shape = { ...definition.spec, ...managedSpec };
  const spec = z.object(shape) as unknown as z.ZodType<SpecOf<Shape>>;
  const readMembers = (given: unknown) => membersOf(shape, given) as unknown as SpecOf<Shape>;
  return { ...definition, spec, readMembers, status: z.object(definition.status) };
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
