/** Derives a kind's spec, status and CEL rules from the fields of a family. */
import type { z } from 'zod';
import type { CelRule } from '../managed/declaration/cel.ts';
// Registers the CEL rules of the domain's formats.
import './cel/formats.ts';
import { type FamilyField, isDeclarable, specSchemaOf } from './family-fields.ts';
import { statusSchemaOf } from './spelling.ts';

/** Descriptions that override those of the family, by field. */
export type About = Readonly<Record<string, string | undefined>>;

/**
 * The spec has the formats, limits and descriptions of requests. Fields that are optional in requests are optional in the
 * spec; the API server fills in their initial value, unless that is null.
 */
export function specFromFamily(
  fields: readonly FamilyField[],
  about: About = {},
  { sources = [], replaced = [] }: { sources?: readonly string[]; replaced?: readonly string[] } = {},
): Record<string, z.ZodType> {
  return Object.fromEntries(
    fields.filter(isDeclarable).map((given) => {
      const { field, member, name } = given;
      const isFixed = !field.onUpdate && !replaced.includes(name);
      const described = specSchemaOf(given, sources).meta(descriptionOf(given, isFixed, sources, about[name]));
      if (field.onCreate === 'required') return [member, described];
      const isDefaulted = field.initial !== null && !field.refersTo && !sources.includes(name);
      return [member, isDefaulted ? described.default(field.initial) : described.optional()];
    }),
  );
}

function descriptionOf(given: FamilyField, isFixed: boolean, sources: readonly string[], about: string | undefined) {
  const { field } = given;
  const shown = about ?? specSchemaOf(given, sources).meta()?.description ?? field.view.meta()?.description;
  const immutable = isFixed ? ['Immutable.'] : [];
  const description = [...(shown === undefined ? [] : [shown]), ...immutable].join(' ');
  return description === '' ? {} : { description };
}

/** The fields that only the service sets. */
export function statusFromFamily(fields: readonly FamilyField[], about: About = {}): Record<string, z.ZodType> {
  return Object.fromEntries(
    fields.filter(isShownOnly).map(({ field, name, member }) => {
      const description = about[name] ?? field.view.meta()?.description;
      const schema = statusSchemaOf(field.view);
      return [member, schema.optional().meta(description === undefined ? {} : { description })];
    }),
  );
}

/** A one-time token is also set by the service, but belongs in a Secret. */
export const isShownOnly = (given: FamilyField) => !isDeclarable(given) && given.field.storage !== 'none';

/** Rules about the whole spec: fields that cannot be updated keep their value, or stay absent. */
export function immutabilityRules(fields: readonly FamilyField[], replaced: readonly string[] = []): CelRule[] {
  return fields
    .filter((given) => isDeclarable(given) && !given.field.onUpdate && !replaced.includes(given.name))
    .map(({ field, member }) => {
      const isSame = `self.${member} == oldSelf.${member}`;
      // The API server also applies the rules to a defaulted spec, before it fills in the initial values.
      const isAlways = field.onCreate === 'required';
      return {
        rule: isAlways
          ? isSame
          : `has(self.${member}) == has(oldSelf.${member}) && (!has(self.${member}) || ${isSame})`,
        message: `${member} is immutable; delete this object and create another`,
        fieldPath: `.${member}`,
      };
    });
}
