/** The columns that `kubectl get` shows for fields of a kind. */
import { z } from 'zod';
import type { PrinterColumn } from '../managed/declaration/kind.ts';
import { type FamilyField, inputOf, isDeclarable, specSchemaOf } from './family-fields.ts';
import { requestShape } from './spelling.ts';

/** For columns that only `-o wide` shows. */
export const WIDE = { priority: 1 };

export const ID_COLUMN: PrinterColumn = {
  name: 'ID',
  type: 'string',
  jsonPath: '.status.id',
  description: 'Id in the management API.',
};

/** The given column, or the one of the field with this name. */
export function columnOf(column: string | PrinterColumn, fields: readonly FamilyField[]): PrinterColumn {
  if (typeof column !== 'string') return column;
  const given = fields.find(({ name }) => name === column);
  if (!given) throw new Error(`the family has no field ${column} to make a column of`);
  const { member } = given;
  if (!isDeclarable(given)) return fieldColumn('status', member, given.field.view);
  const schema = given.field.refersTo ? specSchemaOf(given) : inputOf(given);
  const description = schema.meta()?.description ?? '';
  const shape = requestShape(schema);
  if (shape instanceof z.ZodArray || shape instanceof z.ZodRecord) return listColumn('spec', member, description);
  return given.field.refersTo ? referenceColumn(member, description) : fieldColumn('spec', member, schema);
}

/** A column with the items of a list or map. */
export function listColumn(place: 'spec' | 'status', member: string, description: string): PrinterColumn {
  const jsonPath = `.status.columns.${member}`;
  return { name: targetName(member), type: 'string', jsonPath, description, lists: { in: place, member } };
}

function fieldColumn(part: 'spec' | 'status', member: string, schema: z.ZodType): PrinterColumn {
  const type = schema instanceof z.ZodBoolean ? 'boolean' : schema instanceof z.ZodNumber ? 'integer' : 'string';
  return {
    name: spelledOut(member),
    type,
    jsonPath: `.${part}.${member}`,
    description: schema.meta()?.description ?? '',
  };
}

/** A column with the name of the referenced object, or the id if the reference is by id. */
export function referenceColumn(member: string, description: string): PrinterColumn {
  return { name: targetName(member), type: 'string', jsonPath: `.spec.${member}['name','id']`, description };
}

/** `Backend` of `backendRef`, `Ip policies` of `ipPolicyRefs`. */
function targetName(member: string): string {
  return spelledOut(
    member
      .replace(/yRefs$/, 'iesRefs')
      .replace(/(?<!ies)Refs$/, 's')
      .replace(/Refs?$/, ''),
  );
}

/** `Expires at` of `expiresAt`; kubectl prints it in capitals. */
const spelledOut = (member: string) => {
  const words = member.replace(/[A-Z]/g, (initial) => ` ${initial.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
};
