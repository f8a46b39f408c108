/**
 * A kind whose objects are the resources of one family. Its spec, status, CEL rules and API calls are derived from the
 * family's fields; the kind adds only what the family does not have.
 */
import type { z } from 'zod';
import type { Client } from '../../client/client.ts';
import type { Fields, Resource } from '../../resources/definition/resource.ts';
import type { External, Remote } from '../managed/declaration/external.ts';
import { type Kind, kind, type PrinterColumn, type SpecOf } from '../managed/declaration/kind.ts';
import type { ManagedSpec } from '../managed/declaration/spec.ts';
import { columnOf, ID_COLUMN, WIDE } from './columns.ts';
import { externalOfFamily, type FamilyCalls } from './external-of-family.ts';
import { type Family, type FamilyField, familyFields, isDeclarable, memberNames, specialty } from './family-fields.ts';
import { type About, immutabilityRules, isShownOnly, specFromFamily, statusFromFamily } from './spec-from-family.ts';
import { statusValueOf } from './spelling.ts';

/** What a kind may add to its family as it is. */
type Added<Spec extends SpecOf<z.ZodRawShape>, R extends Remote> = Pick<Kind<Spec, R>, 'kind' | 'shortNames'> &
  Partial<
    Pick<
      Kind<Spec, R>,
      | 'description'
      | 'isAdministrative'
      | 'rules'
      | 'describe'
      | 'conditions'
      | 'readyRemarks'
      | 'refreshAt'
      | 'news'
      | 'end'
      | 'unfit'
      | 'unserved'
      | 'dnsRecords'
      | 'handsOutUserRights'
      | 'delivery'
    >
  >;

export interface PlainKindOptions<F extends Fields, Own extends z.ZodRawShape, V extends Remote, R extends V>
  extends Added<SpecOf<Own>, R> {
  /** The calls of the family. */
  calls: (client: Client) => FamilyCalls<V>;
  /** Descriptions that override the family's, by field. */
  about?: { readonly [Name in keyof F]?: string };
  /**
   * Members whose values the service has chosen, as far as the resource shows. An export leaves them out.
   * @param now by the clock of the API
   */
  chosenByService?: (remote: V, now: Date) => readonly string[];
  /** Comments that an export writes about the resource. */
  remarks?: (remote: V, now: Date) => readonly string[];
  /** Whether every installation has the resource. An export leaves it out. */
  isBuiltIn?: (remote: V) => boolean;
  /** Fields of the family that the kind leaves out. */
  omit?: readonly (keyof F & string)[];
  /** Fields, at any depth, that are given by source: as a value, or from a Secret or ConfigMap. */
  sources?: readonly string[];
  /** Immutable fields that can be changed in a spec, by creating a new resource. */
  replaced?: readonly ((keyof F & string) | 'edge_id')[];
  /** Names of the fields that the service sets itself for this spec and resource. */
  setByService?: (spec: SpecOf<Own>, remote: V) => readonly (keyof F & string)[];
  /** Fields that `expand` takes from other members of the spec, and where, for messages about them. */
  given?: { readonly [Name in keyof F]?: string };
  /** The fields' members from those of the spec, where they are declared in another form. */
  expand?: (spec: SpecOf<Own>) => object;
  /** Members of the spec that the family lacks or has in another form. */
  spec?: Own;
  /** Members of the status, besides the fields that only the service sets. */
  status?: z.ZodRawShape;
  /** Columns before the id: fields of the family, or members of the status. */
  columns?: readonly ((keyof F & string) | PrinterColumn)[];
  /** Columns that only `-o wide` shows. */
  wideColumns?: readonly (keyof F & string)[];
  /** For resources that are more than the family's fields. */
  external?: (plain: External<SpecOf<Own>, V>, client: Client) => External<SpecOf<Own>, R>;
}

/** A kind with the family of its resources. */
export interface PlainKind<Spec extends ManagedSpec, R extends Remote> extends Kind<Spec, R> {
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
  /** Comments that an export writes about the resource. */
  remarks?(remote: R, now: Date): readonly string[];
  /** Whether every installation has the resource. An export leaves it out. */
  isBuiltIn?(remote: R): boolean;
}

/** A plain kind whose own types do not matter. */
export type AnyPlainKind = PlainKind<ManagedSpec, Remote>;

/** @throws Error when the family needs more than its fields express and the options do not provide it */
export function plainKind<
  F extends Fields,
  V extends Remote,
  Own extends z.ZodRawShape = Record<never, never>,
  R extends V = V,
>(family: Resource<F>, options: PlainKindOptions<F, Own, V, R>): PlainKind<SpecOf<Own>, R> {
  const {
    about = {},
    omit = [],
    sources = [],
    replaced = [],
    given = {},
    columns = [],
    wideColumns = [],
    ...own
  } = options;
  const {
    calls,
    chosenByService,
    remarks,
    isBuiltIn,
    setByService,
    expand,
    external,
    spec = {},
    status,
    ...added
  } = own;
  const ownSpec: z.ZodRawShape = spec;
  const fields = familyFields(family, omit);
  const givenIn = new Map<string, string>(Object.entries(given));
  const ungiven = fields.filter(({ name }) => !givenIn.has(name));
  requirePlain(options.kind, family, ungiven, { own: ownSpec, sources, hasDelivery: options.delivery !== undefined });
  const places = new Map(fields.map(({ member, name }) => [member, givenIn.get(name) ?? member]));
  // Members that the kind declares itself are not derived as well.
  const declared = ungiven.filter(({ member }) => !(member in ownSpec));
  const shown = fields.filter(isShownOnly);
  const all = [
    ...columns.map((column) => columnOf(column, fields)),
    // The id of a nested resource includes its parent's, which is too long for a screen.
    { ...ID_COLUMN, ...(family.parent && WIDE) },
    ...wideColumns.map((column) => ({ ...columnOf(column, fields), ...WIDE })),
  ];
  const made = kind<Own, R>({
    description: family.description,
    ...added,
    // The family's members are missing from the type, since they are only known from the family's data.
    spec: { ...specFromFamily(declared, about, { sources, replaced }), ...ownSpec } as unknown as Own,
    status: { ...statusFromFamily(fields, about), ...status },
    memberNames: new Map([...memberNames(fields), ...givenIn]),
    rules: [...immutabilityRules(declared, replaced), ...(options.rules ?? [])],
    printerColumns: all.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0)),
    external: (client) => {
      const direct = externalOfFamily<SpecOf<Own>, V>(family, fields, calls(client), client, {
        replaced,
        setByService,
      });
      const plain = expand ? expanded(direct, expand, places) : direct;
      // Without `external`, R is V.
      return external?.(plain, client) ?? (plain as unknown as External<SpecOf<Own>, R>);
    },
    describe: (spec, remote, object) => {
      const observed = new Map<string, unknown>(Object.entries(remote));
      const derived = shown.map(({ member, shownAs, field }) => [
        member,
        statusValueOf(field.view, observed.get(shownAs)),
      ]);
      return { ...Object.fromEntries(derived), ...options.describe?.(spec, remote, object) };
    },
    deletableWhileReferenced: family.deletableWhileReferenced ?? false,
  });
  const exported = {
    ...(chosenByService && { chosenByService }),
    ...(remarks && { remarks }),
    ...(isBuiltIn && { isBuiltIn }),
  };
  return { ...made, family, fields, sources, replaced, about, calls, ...exported };
}

/**
 * The verbs for a spec whose members differ from the family's.
 * @param places paths of the members in the spec, for messages about immutable ones
 */
function expanded<Spec, R extends Remote>(
  direct: External<object, R>,
  expand: (spec: Spec) => object,
  places: ReadonlyMap<string, string>,
): External<Spec, R> {
  const placed = (members: readonly string[]) => members.map((member) => places.get(member) ?? member);
  return {
    ...direct,
    create: (spec, options) => direct.create(expand(spec), options),
    changes: (spec, remote) => direct.changes(expand(spec), remote),
    immutableChanges: (spec, remote) => placed(direct.immutableChanges(expand(spec), remote)),
    replacingChanges: (spec, remote) => placed(direct.replacingChanges(expand(spec), remote)),
    update: (remote, spec, options) => direct.update(remote, expand(spec), options),
  };
}

function requirePlain(
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
