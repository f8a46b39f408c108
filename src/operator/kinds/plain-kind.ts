/**
 * A kind whose objects are the resources of one family. Its spec, its status, what the API server checks and the calls of
 * the API all come from the family's fields; a kind adds only what the family does not know.
 */
import { z } from 'zod';
import type { Client } from '../../client/client.ts';
import type { Fields, Resource } from '../../resources/definition/resource.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { Delivery, External, Remote } from '../managed/external.ts';
import { type Kind, kind, type PrinterColumn, type SpecOf } from '../managed/kind.ts';
import type { SecretAccess } from '../managed/secrets/secret-access.ts';
import { externalOfFamily, type FamilyCalls } from './external-of-family.ts';
import { type Family, type FamilyField, familyFields, inputOf, isDeclarable, specialty } from './family-fields.ts';
import { immutabilityRules, isShownOnly, specFromFamily, statusFromFamily } from './spec-from-family.ts';

export interface PlainKindOptions<F extends Fields, Own extends z.ZodRawShape, V extends Remote, R extends V> {
  /** `IPPolicy`; the plural and the singular follow from it. */
  kind: string;
  shortNames: readonly string[];
  /** Default: the family's. */
  description?: string;
  /** The calls of the family. */
  calls: (client: Client) => FamilyCalls<V>;
  /** Descriptions of fields in place of the family's. */
  about?: { readonly [Name in keyof F]?: string };
  /** Fields of the family that the kind does not have. */
  omit?: readonly (keyof F & string)[];
  /** Members of the spec that the family does not have, or has in another form. */
  spec?: Own;
  /** Members of the status, beside what only the service sets. */
  status?: z.ZodRawShape;
  describe?: (spec: SpecOf<Own>, remote: R, object: KubeObject) => Record<string, unknown>;
  /** Columns beside the id: fields of the family, or members of the status. */
  columns?: readonly ((keyof F & string) | PrinterColumn)[];
  /** Where the resource is more than the family's fields. */
  external?: (plain: External<SpecOf<Own>, V>, client: Client) => External<SpecOf<Own>, R>;
  /** For families that hand something out once. */
  delivery?: (secrets: SecretAccess) => Delivery<SpecOf<Own>, R>;
}

/** A kind with the family that its objects are resources of. */
export interface PlainKind<Spec extends SpecOf<z.ZodRawShape>, R extends Remote> extends Kind<Spec, R> {
  readonly family: Family;
  calls(client: Client): FamilyCalls<Remote>;
}

/** A plain kind whose own types are not needed. */
// biome-ignore lint/suspicious/noExplicitAny: a heterogeneous list needs an existential type, which TypeScript lacks
export type AnyPlainKind = PlainKind<any, any>;

/** @throws Error when the family has something that needs more than its fields say, and the options do not say it */
export function plainKind<
  F extends Fields,
  V extends Remote,
  Own extends z.ZodRawShape = Record<never, never>,
  R extends V = V,
>(family: Resource<F>, options: PlainKindOptions<F, Own, V, R>): PlainKind<SpecOf<Own>, R> {
  const { kind: name, about = {}, omit = [], columns = [], delivery } = options;
  const own: z.ZodRawShape = options.spec ?? {};
  const fields = familyFields(family, omit);
  mustBePlain(name, family, fields, own, delivery !== undefined);
  const singular = name.toLowerCase();
  const shown = fields.filter(isShownOnly);
  const all = [...columns.map((column) => columnOf(column, fields)), ID_COLUMN];
  const made = kind<Own, R>({
    kind: name,
    plural: `${singular.replace(/y$/, 'ie')}s`,
    singular,
    shortNames: options.shortNames,
    description: options.description ?? family.description,
    // With the family's members, which are not in the type, as what they are is only known from the family's data.
    spec: { ...specFromFamily(fields, about), ...own } as unknown as Own,
    status: { ...statusFromFamily(fields, about), ...options.status },
    rules: immutabilityRules(fields),
    printerColumns: all.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0)),
    external: (client) => {
      const plain = externalOfFamily<SpecOf<Own>, V>(fields, options.calls(client), client);
      // Without a declaration of its own, R is V.
      return options.external?.(plain, client) ?? (plain as unknown as External<SpecOf<Own>, R>);
    },
    describe: (spec, remote, object) => {
      const observed = new Map<string, unknown>(Object.entries(remote));
      const derived = shown.map(({ member, shownAs }) => [member, observed.get(shownAs) ?? undefined]);
      return { ...Object.fromEntries(derived), ...options.describe?.(spec, remote, object) };
    },
    ...(delivery && { delivery }),
  });
  return { ...made, family, calls: options.calls };
}

function mustBePlain(
  kind: string,
  family: Family,
  fields: readonly FamilyField[],
  own: z.ZodRawShape,
  hasDelivery: boolean,
): void {
  const refuse = (what: string) => {
    throw new Error(`${kind} cannot be a plain kind of the family ${family.name}: ${what}`);
  };
  if (family.parent) refuse(`its resources live inside those of ${family.parent.of.name}`);
  for (const given of fields) {
    const problem = given.member in own ? undefined : specialty(given);
    if (problem) refuse(`the field ${given.name} ${problem}; omit it, or declare ${given.member} in the spec`);
    const isHandedOut = !isDeclarable(given) && given.field.storage === 'none';
    if (isHandedOut && !hasDelivery) refuse(`the field ${given.name} is shown only once; omit it, or give a delivery`);
  }
}

const ID_COLUMN: PrinterColumn = {
  name: 'ID',
  type: 'string',
  jsonPath: '.status.id',
  description: 'Id in the API.',
};

function columnOf(column: string | PrinterColumn, fields: readonly FamilyField[]): PrinterColumn {
  if (typeof column !== 'string') return column;
  const given = fields.find(({ name }) => name === column);
  if (!given) throw new Error(`there is no field ${column} to make a column of`);
  const { member } = given;
  const schema = isDeclarable(given) ? inputOf(given) : given.field.view;
  const type = schema instanceof z.ZodBoolean ? 'boolean' : schema instanceof z.ZodNumber ? 'integer' : 'string';
  return {
    name: member.charAt(0).toUpperCase() + member.slice(1),
    type,
    jsonPath: `.${isDeclarable(given) ? 'spec' : 'status'}.${member}`,
    description: schema.meta()?.description ?? `The field ${member}.`,
  };
}
