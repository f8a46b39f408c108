/**
 * A kind whose objects are the modules of one resource, their owner: settings without an id of their own. Its spec and API
 * calls are derived from the fields of the modules.
 */
import { z } from 'zod';
import type { Client } from '../../client/client.ts';
import { idWithin } from '../../resources/definition/id.ts';
import type { Module } from '../../resources/definition/module.ts';
import type { CelRule } from '../managed/declaration/cel.ts';
import type { Remote } from '../managed/declaration/external.ts';
import { refTo } from '../managed/declaration/input-schemas.ts';
import { type AnyKind, kind } from '../managed/declaration/kind.ts';
import { camelCase } from '../managed/declaration/spec-terms.ts';
import { ID_COLUMN, listColumn, referenceColumn, WIDE } from './columns.ts';
import type { FamilyCalls } from './external-of-family.ts';
import { externalOfModules, type ModuleCalls, type Owner } from './external-of-modules.ts';
import { type Family, type FamilyField, familyFields, memberNames } from './family-fields.ts';
import type { AnyPlainKind } from './plain-kind.ts';
import { specFromFamily } from './spec-from-family.ts';

export interface DeclaredModule {
  module: Pick<Module, 'name' | 'description' | 'fields'>;
  /** Fields, at any depth, that are given by source: as a value, or from a Secret or ConfigMap. */
  sources?: readonly string[];
  calls: (client: Client, ownerId: string) => ModuleCalls;
}

export interface AttachedKindOptions {
  /** As in `TLSEdgeModules`. */
  kind: string;
  shortNames: readonly string[];
  description: string;
  /** The member of the spec that refers to the owner. */
  ownerRef: string;
  modules: readonly DeclaredModule[];
  /** Rules about the spec as a whole. */
  rules?: readonly CelRule[];
}

/** One module as the spec has it. */
export interface ModuleMember {
  /** In the spec. */
  readonly member: string;
  /** In the API. */
  readonly name: string;
  readonly fields: readonly FamilyField[];
  /** Names of fields, at any depth, that are given by source. */
  readonly sources: readonly string[];
  readonly schema: z.ZodType;
  calls(client: Client, ownerId: string): ModuleCalls;
}

/** A kind with the family of the resources whose modules its objects are. */
export interface AttachedKind extends AnyKind {
  readonly ownerFamily: Family;
  /** The member of the spec that refers to the owner. */
  readonly ownerRef: string;
  readonly modules: readonly ModuleMember[];
  owners(client: Client): FamilyCalls<Remote>;
}

export function attachedKind(
  { family: owner, calls: owners }: Pick<AnyPlainKind, 'family' | 'calls'>,
  { ownerRef, modules, rules = [], ...options }: AttachedKindOptions,
): AttachedKind {
  const parts = modules.map(({ module, sources = [], calls }) => {
    const fields = familyFields({ fields: module.fields });
    const schema = z.strictObject(specFromFamily(fields, {}, { sources })).optional();
    return {
      member: camelCase(module.name),
      name: module.name,
      fields,
      sources,
      schema: schema.meta({ description: `${module.description} Without this member, the module does not exist.` }),
      calls,
    };
  });
  const { title, prefix, parent } = owner;
  const target = { title, prefix, ...(parent && { id: idWithin(parent.of.prefix, prefix) }) };
  const ownerIn = (spec: object) => new Map<string, unknown>(Object.entries(spec)).get(ownerRef);
  const made = kind<z.ZodRawShape, Owner>({
    ...options,
    spec: {
      [ownerRef]: refTo(
        [target],
        `The ${title} that the modules belong to. One object declares all modules of one ${title}.`,
      ),
      ...Object.fromEntries(parts.map(({ member, schema }) => [member, schema])),
    },
    status: {
      modules: z
        .array(z.string())
        .optional()
        .meta({ description: `The modules that the ${title} has.` }),
    },
    memberNames: new Map(parts.flatMap(({ name, member, fields }) => [[name, member], ...memberNames(fields)])),
    rules: [hasModule(parts.map(({ member }) => member)), ...rules],
    printerColumns: [
      referenceColumn(ownerRef, `The ${title} that the modules belong to.`),
      listColumn('status', 'modules', 'The modules that are set.'),
      { ...ID_COLUMN, description: `Id of the ${title} in the management API.`, ...WIDE },
    ],
    external: (client) =>
      externalOfModules(
        owner,
        parts.map(({ calls, ...part }) => ({ ...part, calls: (id: string) => calls(client, id) })),
        owners(client),
        client,
      ),
    owner: {
      kind: title,
      givenIn: ownerIn,
      modulesIn: (spec) => {
        const members = new Map<string, unknown>(Object.entries(spec));
        return parts.filter(({ member }) => members.get(member) !== undefined).map(({ name }) => name);
      },
    },
    describe: (_, remote) => ({
      modules: Object.keys(remote.modules)
        .map((each) => camelCase(each))
        .sort(),
    }),
  });
  return { ...made, ownerFamily: owner, ownerRef, modules: parts, owners };
}

/** An object without modules would be ready, although it protects nothing. One that only observes needs none. */
function hasModule(members: readonly string[]): CelRule {
  const observes = "has(self.managementPolicy) && self.managementPolicy == 'Observe'";
  return {
    rule: [...members.map((member) => `has(self.${member})`), observes].join(' || '),
    message: `must have at least one module (${members.join(', ')}); to remove the last one, delete the object`,
  };
}
