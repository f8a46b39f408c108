/** What a spec and a status say of the fields of their family. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { familyFields } from '../../../src/operator/kinds/family-fields.ts';
import { immutabilityRules, specFromFamily, statusFromFamily } from '../../../src/operator/kinds/spec-from-family.ts';
import { derived, field, optional, required } from '../../../src/resources/definition/resource.ts';

const said = (schemas: Record<string, z.ZodType>) =>
  Object.fromEntries(Object.entries(schemas).map(([member, schema]) => [member, schema.meta()?.description]));
const text = (description: string) => z.string().meta({ description });

test('a member of the spec is described as the kind says, else the input of its field, else the view', () => {
  const fields = familyFields({
    fields: {
      by_kind: field(text('of the view'), text('of the input'), 'required', true, undefined),
      by_input: field(text('of the view'), text('of the input'), 'required', true, undefined),
      by_view: field(text('of the view'), z.string(), 'required', true, undefined),
      fixed: field(text('of the view'), z.string(), 'required', false, undefined),
      fixed_only: field(z.string(), z.string(), 'required', false, undefined),
      not_at_all: required(z.string()),
    },
  });
  expect(said(specFromFamily(fields, { by_kind: 'of the kind' }))).toEqual({
    byKind: 'of the kind',
    byInput: 'of the input',
    byView: 'of the view',
    fixed: 'of the view Immutable.',
    fixedOnly: 'Immutable.',
    notAtAll: undefined,
  });
});

test('a member need not be given if its field need not, and has the initial value of that', () => {
  const fields = familyFields({ fields: { must: required(z.string()), may: optional(z.string().nullable()) } });
  const spec = z.object(specFromFamily(fields));
  expect(spec.safeParse({}).success).toBe(false);
  expect(spec.parse({ must: 'a' })).toEqual({ must: 'a' });
});

test('what only the service sets is in the status', () => {
  const fields = familyFields({
    fields: { name: required(z.string()), state: derived(text('of the view')), since: derived(z.string()) },
  });
  expect(said(statusFromFamily(fields))).toEqual({ state: 'of the view', since: undefined });
  expect(said(statusFromFamily(fields, { state: 'of the kind' }))).toMatchObject({ state: 'of the kind' });
});

test('what cannot be changed stays as it is, unless it makes another resource', () => {
  const fields = familyFields({
    fields: {
      name: required(z.string()),
      region: required(z.string(), { update: false }),
      key: required(z.string(), { update: false }),
      zone: field(z.string().nullable(), z.string().nullable(), 'optional', false, null),
    },
  });
  expect(immutabilityRules(fields, ['key'])).toEqual([
    {
      rule: 'self.region == oldSelf.region',
      message: 'region is immutable; delete this object and create another',
      fieldPath: '.region',
    },
    {
      rule: 'has(self.zone) == has(oldSelf.zone) && (!has(self.zone) || self.zone == oldSelf.zone)',
      message: 'zone is immutable; delete this object and create another',
      fieldPath: '.zone',
    },
  ]);
});
