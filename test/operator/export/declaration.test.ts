/** Specs from what resources have, for forms of fields that no plain family has. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { declarationOf } from '../../../src/operator/export/declaration.ts';
import type { SpecMember } from '../../../src/operator/export/spec-members.ts';
import { refTo, sourceOf } from '../../../src/operator/managed/inputs/schemas.ts';

const member = (schema: z.ZodType, shown: unknown, more: Partial<SpecMember> = {}): SpecMember => ({
  name: 'member',
  schema,
  shown,
  initial: null,
  refersTo: 'nothing',
  isSecret: false,
  ...more,
});
const OBJECTS = new Map([['one_1', { kind: 'One', name: 'first' }]]);
const options = { secretName: 'its-secret', objectOf: (id: string) => OBJECTS.get(id) };
const declare = (given: SpecMember) => declarationOf([given], options);

const provider = z
  .strictObject({
    github: z
      .strictObject({ clientId: sourceOf(z.string()), clientSecret: sourceOf(z.string()), teams: z.array(z.string()) })
      .optional(),
    google: z.strictObject({ clientId: sourceOf(z.string()) }).optional(),
  })
  .optional();

describe('a member', () => {
  test('that is secret is taken from a Secret, at any depth, and what was not given is not asked for', () => {
    const shown = { github: { client_id: 'id', client_secret: 'hidden', teams: ['a'] }, google: null };
    const { spec, secrets } = declare(member(provider, shown, { isSecret: true }));
    const from = (key: string) => ({ secretKeyRef: { name: 'its-secret', key } });
    expect(spec).toEqual({
      member: { github: { clientId: from('client-id'), clientSecret: from('client-secret'), teams: ['a'] } },
    });
    expect(secrets).toEqual([{ name: 'its-secret', keys: ['client-id', 'client-secret'] }]);
  });

  test('that the API never shows is taken from a Secret if the spec must have it', () => {
    const { spec, secrets } = declare(member(sourceOf(z.string()), undefined, { isSecret: true }));
    expect(spec).toEqual({ member: { secretKeyRef: { name: 'its-secret', key: 'member' } } });
    expect(secrets).toEqual([{ name: 'its-secret', keys: ['member'] }]);
    expect(declare(member(sourceOf(z.string()).optional(), undefined, { isSecret: true })).spec).toEqual({});
  });

  test.for([
    ['a value', z.string().optional(), 'text', 'text'],
    ['the initial value', z.string().optional(), null, undefined],
    ['the initial value of what must be given', z.array(z.string()), [], []],
    ['a map of sources', z.record(z.string(), sourceOf(z.string())), { 'x-a': 'b' }, { 'x-a': { value: 'b' } }],
    ['members in camelCase', z.strictObject({ fullName: z.string() }), { full_name: 'x', uri: 'y' }, { fullName: 'x' }],
  ] as const)('with %s', ([, schema, shown, value]) => {
    const initial = Array.isArray(shown) ? [] : null;
    const { spec } = declare(member(schema, shown, { initial }));
    expect(spec).toEqual(value === undefined ? {} : { member: value });
  });

  const targets = ['One', 'Other'].map((title) => ({ title, prefix: title.toLowerCase() }));
  test.for([
    ['one kind, exported', targets.slice(0, 1), { id: 'one_1', uri: 'x' }, { name: 'first' }],
    ['several kinds, exported', targets, { id: 'one_1', uri: 'x' }, { kind: 'One', name: 'first' }],
    ['something that is not exported', targets, { id: 'one_2', uri: 'x' }, { id: 'one_2' }],
    ['an id', targets, 'one_1', { kind: 'One', name: 'first' }],
  ] as const)('that refers to %s', ([, to, shown, value]) => {
    expect(declare(member(refTo(to, 'it'), shown, { refersTo: 'one' })).spec).toEqual({ member: value });
    const many = member(z.array(refTo(to, 'it')), [shown], { refersTo: 'many' });
    expect(declare(many).spec).toEqual({ member: [value] });
  });
});
