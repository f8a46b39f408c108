/** What a resource has in the members of its kind's spec, as the API shows it: one function for each form of kind. */
import { z } from 'zod';
import { isShown } from '../../resources/definition/resource.ts';
import { familyFields, isDeclarable } from '../kinds/family-fields.ts';
import type { AnyPlainKind } from '../kinds/plain-kind.ts';
import type { Remote } from '../managed/external.ts';
import { managedSpec } from '../managed/spec.ts';

export interface SpecMember {
  readonly name: string;
  readonly schema: z.ZodType;
  /** Undefined where no response shows it. */
  readonly shown: unknown;
  /** What the resource has if the spec leaves the member out. */
  readonly initial: unknown;
  /** The ids, if the member refers to other resources. */
  readonly refersTo: 'nothing' | 'one' | 'many';
  /** Whether the text in it must not be seen. */
  readonly isSecret: boolean;
}

/** The members of the spec that belong to the kind alone, with their schemas. */
export function ownMembers(kind: Pick<AnyPlainKind, 'kind' | 'spec'>): [name: string, schema: z.ZodType][] {
  if (!(kind.spec instanceof z.ZodObject)) throw new Error(`the spec of ${kind.kind} has no members`);
  return Object.entries<z.ZodType>(kind.spec.shape).filter(([name]) => !(name in managedSpec));
}

export function specMembers(kind: AnyPlainKind, remote: Remote): SpecMember[] {
  const fields = new Map(
    familyFields(kind.family)
      .filter(isDeclarable)
      .map((given) => [given.member, given]),
  );
  const observed = new Map<string, unknown>(Object.entries(remote));
  return ownMembers(kind).map(([name, schema]) => {
    const given = fields.get(name);
    // What the family lacks, a special kind observes under the name of the member.
    if (!given)
      return { name, schema, shown: observed.get(name), initial: undefined, refersTo: 'nothing', isSecret: false };
    const { field, shownAs } = given;
    const shown = observed.get(shownAs);
    return {
      name,
      schema,
      shown: isShown(field) ? shown : undefined,
      initial: field.initial,
      refersTo: !field.refersTo ? 'nothing' : Array.isArray(shown) ? 'many' : 'one',
      isSecret: field.sealed === true || !isShown(field),
    };
  });
}
