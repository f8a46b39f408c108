/**
 * A kind whose objects are the resources of one family. Its spec, status, CEL rules and API calls are derived from the
 * family's fields; the kind adds only what the family does not have.
 */
import type { z } from 'zod';
import type { Client } from '../../client/client.ts';
import type { Fields, Resource } from '../../resources/definition/resource.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { CelRule } from '../managed/cel.ts';
import type { Companion } from '../managed/companion.ts';
import type { External, Finding, Remote } from '../managed/external.ts';
import { type DeclaredDelivery, type End, type Kind, kind, type PrinterColumn, type SpecOf } from '../managed/kind.ts';
import { columnOf, ID_COLUMN, WIDE } from './columns.ts';
import { type Comparison, externalOfFamily, type FamilyCalls } from './external-of-family.ts';
import { type Family, type FamilyField, familyFields, isDeclarable, memberNames, specialty } from './family-fields.ts';
import { type About, immutabilityRules, isShownOnly, specFromFamily, statusFromFamily } from './spec-from-family.ts';
import { statusValueOf } from './spelling.ts';

export interface PlainKindOptions<F extends Fields, Own extends z.ZodRawShape, V extends Remote, R extends V> {
  /** As in `IPPolicy`; the singular and the plural are derived from it. */
  kind: string;
  shortNames: readonly string[];
  /** Default: the family's. */
  description?: string;
  /** The calls of the family. */
  calls: (client: Client) => FamilyCalls<V>;
  /** Descriptions that override the family's, by field. */
  about?: { readonly [Name in keyof F]?: string };
  /**
   * Members whose values the service has chosen, as far as the resource tells, and that it would leave as they are: an
   * export leaves them out.
   * @param now by the clock of the API
   */
  chosenByService?: (remote: V, now: Date) => readonly string[];
  /** What an export says about the resource, a sentence or two each. */
  remarks?: (remote: V, now: Date) => readonly string[];
  /** Fields of the family that the kind leaves out. */
  omit?: readonly (keyof F & string)[];
  /** Fields, at any depth, that are given by source: as a value, or from a Secret or ConfigMap. */
  sources?: readonly string[];
  /** Immutable fields for which a new resource is made when they change, in place of being refused. */
  replaced?: readonly ((keyof F & string) | 'edge_id')[];
  /** Names of the fields that the service sets by itself as long as spec and resource are like this. */
  setByService?: (spec: SpecOf<Own>, remote: V) => readonly (keyof F & string)[];
  /** Nullable fields by which the resource serves: they wait for the modules that others declare for it. */
  serves?: readonly (keyof F & string)[];
  /** For fields whose equal values may look different. */
  same?: { readonly [Name in keyof F]?: Comparison };
  /** Fields that `expand` takes from other members of the spec. */
  given?: readonly (keyof F & string)[];
  /** Where the spec has these, for messages about them. */
  givenIn?: Readonly<Record<string, string>>;
  /** The fields' members from those of the spec, where they are declared in another form. */
  expand?: (spec: SpecOf<Own>) => object;
  /** Rules about the spec as a whole, besides those that keep what is immutable. */
  rules?: readonly CelRule[];
  conditions?: (spec: SpecOf<Own>, remote: R) => Record<string, Finding>;
  refreshAt?: (remote: R, now: Date) => Date | undefined;
  end?: End<R>;
  companion?: Companion<SpecOf<Own>, R>;
  /** Members of the spec that the family lacks or has in another form. */
  spec?: Own;
  /** Members of the status, besides the fields that only the service sets. */
  status?: z.ZodRawShape;
  describe?: (spec: SpecOf<Own>, remote: R, object: KubeObject) => Record<string, unknown>;
  /** Columns besides the id, what one looks for first: fields of the family, or members of the status. */
  columns?: readonly ((keyof F & string) | PrinterColumn)[];
  /** Columns that only `-o wide` shows. */
  wideColumns?: readonly (keyof F & string)[];
  /** For resources that are more than the family's fields. */
  external?: (plain: External<SpecOf<Own>, V>, client: Client) => External<SpecOf<Own>, R>;
  /** Whether what the object hands out would have the rights of a user at the management API; never, unless told. */
  handsOutUserRights?: (spec: SpecOf<Own>) => boolean;
  /** For families with a one-time token. */
  delivery?: DeclaredDelivery<SpecOf<Own>, R>;
}

/** A kind with the family of its resources. */
export interface PlainKind<Spec extends SpecOf<z.ZodRawShape>, R extends Remote> extends Kind<Spec, R> {
  readonly family: Family;
  /** The fields of the family that it declares itself. */
  readonly fields: readonly FamilyField[];
  /** Names of fields, at any depth, that are given by source. */
  readonly sources: readonly string[];
  /** Names of fields for which a new resource is made when they change. */
  readonly replaced: readonly string[];
  /** Descriptions that override the family's, by field. */
  readonly about: About;
  calls(client: Client): FamilyCalls<Remote>;
  /** Members of the spec that an export leaves out, since the service has chosen their values. */
  chosenByService?(remote: R, now: Date): readonly string[];
  /** What an export says about the resource. */
  remarks?(remote: R, now: Date): readonly string[];
}

/** A plain kind whose own types do not matter. */
// biome-ignore lint/suspicious/noExplicitAny: a heterogeneous list needs an existential type, which TypeScript lacks
export type AnyPlainKind = PlainKind<any, any>;

/** @throws Error when the family needs more than its fields express and the options do not provide it */
export function plainKind<
  F extends Fields,
  V extends Remote,
  Own extends z.ZodRawShape = Record<never, never>,
  R extends V = V,
>(family: Resource<F>, options: PlainKindOptions<F, Own, V, R>): PlainKind<SpecOf<Own>, R> {
  const {
    kind: name,
    about = {},
    omit = [],
    columns = [],
    wideColumns = [],
    sources = [],
    replaced = [],
    given = [],
    delivery,
  } = options;
  const own: z.ZodRawShape = options.spec ?? {};
  const fields = familyFields(family, omit);
  mustBePlain(
    name,
    family,
    fields.filter((each) => !given.includes(each.name)),
    { own, sources, hasDelivery: delivery !== undefined },
  );
  const singular = name.toLowerCase();
  const places = new Map(fields.map(({ member, name }) => [member, options.givenIn?.[name] ?? member]));
  // What the kind declares itself is not derived a second time.
  const declared = fields.filter(({ member, name }) => !(member in own) && !given.includes(name));
  const shown = fields.filter(isShownOnly);
  const all = [
    ...columns.map((column) => columnOf(column, fields)),
    // Of what lives inside another resource, it has the id of that in front, and is too long for a screen.
    { ...ID_COLUMN, ...(family.parent && WIDE) },
    ...wideColumns.map((column) => ({ ...columnOf(column, fields), ...WIDE })),
  ];
  const made = kind<Own, R>({
    kind: name,
    plural: pluralOf(singular),
    singular,
    shortNames: options.shortNames,
    description: options.description ?? family.description,
    // The family's members are missing from the type, since they are only known from the family's data.
    spec: { ...specFromFamily(declared, about, { sources, replaced }), ...own } as unknown as Own,
    status: { ...statusFromFamily(fields, about), ...options.status },
    memberNames: new Map([...memberNames(fields), ...Object.entries(options.givenIn ?? {})]),
    rules: [...immutabilityRules(declared, replaced), ...(options.rules ?? [])],
    printerColumns: all.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0)),
    external: (client) => {
      const { same = {}, expand } = options;
      const direct = externalOfFamily<SpecOf<Own>, V>(family, fields, options.calls(client), client, {
        replaced,
        same,
        setByService: options.setByService,
      });
      const plain = expand ? expanded(direct, expand, places) : direct;
      // Without `external`, R is V.
      return options.external?.(plain, client) ?? (plain as unknown as External<SpecOf<Own>, R>);
    },
    describe: (spec, remote, object) => {
      const observed = new Map<string, unknown>(Object.entries(remote));
      const derived = shown.map(({ member, shownAs, field }) => [
        member,
        statusValueOf(field.view, observed.get(shownAs)),
      ]);
      return { ...Object.fromEntries(derived), ...options.describe?.(spec, remote, object) };
    },
    ...(options.conditions && { conditions: options.conditions }),
    ...(options.companion && { companion: options.companion }),
    ...(options.refreshAt && { refreshAt: options.refreshAt }),
    ...(options.end && { end: options.end }),
    ...(options.serves && { unserved: unservedMembers(fields, options.serves) }),
    ...(options.handsOutUserRights && { handsOutUserRights: options.handsOutUserRights }),
    ...(delivery && { delivery }),
    deletableWhileReferenced: family.deletableWhileReferenced ?? false,
  });
  const { calls, chosenByService, remarks } = options;
  const exported = { ...(chosenByService && { chosenByService }), ...(remarks && { remarks }) };
  return { ...made, family, fields, sources, replaced, about, calls, ...exported };
}

/** `ippolicies`, `apikeys`, `tlsedgemodules`. */
export function pluralOf(singular: string): string {
  return singular.endsWith('s') ? singular : `${singular.replace(/(?<=[^aeiou])y$/, 'ie')}s`;
}

/** Of these fields, the members that the spec has and the resource lacks. */
function unservedMembers(fields: readonly FamilyField[], names: readonly string[]) {
  const serving = fields.filter(({ name }) => names.includes(name));
  const has = (some: object | undefined, name: string) =>
    some !== undefined && (new Map<string, unknown>(Object.entries(some)).get(name) ?? null) !== null;
  return (spec: object, remote: object | undefined) =>
    serving.filter(({ member, shownAs }) => has(spec, member) && !has(remote, shownAs)).map(({ member }) => member);
}

/**
 * The verbs for a spec whose members differ from the family's.
 * @param places where the spec has the members, for those who are told what cannot be changed
 */
function expanded<Spec, R extends Remote>(
  direct: External<object, R>,
  expand: (spec: Spec) => object,
  places: ReadonlyMap<string, string>,
): External<Spec, R> {
  const placed = (members: readonly string[]) => members.map((member) => places.get(member) ?? member);
  return {
    ...direct,
    create: (spec, idempotency) => direct.create(expand(spec), idempotency),
    changes: (spec, remote) => direct.changes(expand(spec), remote),
    immutableChanges: (spec, remote) => placed(direct.immutableChanges(expand(spec), remote)),
    replacingChanges: (spec, remote) => placed(direct.replacingChanges(expand(spec), remote)),
    update: (remote, spec) => direct.update(remote, expand(spec)),
  };
}

function mustBePlain(
  kind: string,
  family: Family,
  fields: readonly FamilyField[],
  { own, sources, hasDelivery }: { own: z.ZodRawShape; sources: readonly string[]; hasDelivery: boolean },
): void {
  const refuse = (what: string) => {
    throw new Error(`${kind} cannot be a plain kind of the family ${family.name}: ${what}`);
  };
  for (const given of fields) {
    const problem = given.member in own ? undefined : specialty(given, sources);
    if (problem)
      refuse(
        `the field ${given.name} ${problem}; omit it, take it from a source, or declare ${given.member} in the spec`,
      );
    const isHandedOut = !isDeclarable(given) && given.field.storage === 'none';
    if (isHandedOut && !hasDelivery)
      refuse(`the field ${given.name} is shown only once; omit it, or provide a delivery`);
  }
}
