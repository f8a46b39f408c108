/** The specs that declare existing resources, for forms of fields that no plain family has. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { declarationOf, sourcesIn } from '../../../src/operator/export/declaration.ts';
import { type SpecMember, specMembers } from '../../../src/operator/export/spec-members.ts';
import { eventDestinationKind } from '../../../src/operator/kinds/event-destination.ts';
import { refTo, sourceOf, tlsSecretRef } from '../../../src/operator/managed/declaration/input-schemas.ts';

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
  test('that is secret is taken from a Secret at any depth, except for values that were never given', () => {
    const shown = { github: { client_id: 'id', client_secret: 'hidden', teams: ['a'] }, google: null };
    const { spec, secrets } = declare(member(provider, shown, { isSecret: true }));
    const from = (key: string) => ({ secretKeyRef: { name: 'its-secret', key } });
    expect(spec).toEqual({
      member: { github: { clientId: from('client-id'), clientSecret: from('client-secret'), teams: ['a'] } },
    });
    expect(secrets).toEqual([{ name: 'its-secret', keys: ['client-id', 'client-secret'] }]);
  });

  test.for([
    [{ datadog: { api_key: '0123456789abcdef', site: 'datadoghq.eu', tags: [] } }, ['api-key']],
    [{ otlp_logs: { url: 'https://otel.example.com/', headers: { authorization: 'Bearer 1' } } }, ['authorization']],
    [{ webhook: { url: 'https://hooks.example.com/hush' } }, undefined],
  ] as const)('with secret parts takes these from a Secret: %j', ([target, keys]) => {
    const remote = { id: 'ed_1', uri: '/x', description: null, metadata: null, format: 'json', target };
    const { spec, secrets } = declarationOf(specMembers(eventDestinationKind, remote), options);
    expect(secrets).toEqual(keys ? [{ name: 'its-secret', keys }] : []);
    expect(JSON.stringify(spec)).not.toMatch(/0123456789abcdef|Bearer/);
  });

  test('that the API never shows is taken from a Secret if it is required', () => {
    const { spec, secrets } = declare(member(sourceOf(z.string()), undefined, { isSecret: true }));
    expect(spec).toEqual({ member: { secretKeyRef: { name: 'its-secret', key: 'member' } } });
    expect(secrets).toEqual([{ name: 'its-secret', keys: ['member'] }]);
    expect(declare(member(sourceOf(z.string()).optional(), undefined, { isSecret: true })).spec).toEqual({});
  });

  test('that is a module prefixes the keys of its secrets with its name', () => {
    const setting = member(sourceOf(z.string()), undefined, { name: 'clientSecret', isSecret: true });
    const schema = z.strictObject({ clientSecret: setting.schema }).optional();
    const { spec, secrets } = declare(member(schema, {}, { name: 'mutualTls', settings: [setting] }));
    const key = 'mutual-tls-client-secret';
    expect(spec).toEqual({ mutualTls: { clientSecret: { secretKeyRef: { name: 'its-secret', key } } } });
    expect(secrets).toEqual([{ name: 'its-secret', keys: [key] }]);
  });

  test('that only names a Secret names one with the keys that it reads', () => {
    const secret = member(tlsSecretRef({ 'tls.crt': z.string() }), undefined, { isSecret: true });
    const secrets = [{ name: 'its-secret', keys: ['tls.crt'] }];
    expect(declare(secret)).toEqual({ spec: { member: { name: 'its-secret' } }, secrets });
    const without = declarationOf([secret], { ...options, secretName: undefined });
    expect(without).toEqual({ spec: { member: { name: expect.any(String) } }, secrets: [] });
  });

  test.for([
    ['a value', z.string().optional(), 'text', 'text'],
    ['the initial value', z.string().optional(), null, undefined],
    ['the initial value of a required member', z.array(z.string()), [], []],
    ['a map of sources', z.record(z.string(), sourceOf(z.string())), { 'x-a': 'b' }, { 'x-a': { value: 'b' } }],
    ['members in camelCase', z.strictObject({ fullName: z.string() }), { full_name: 'x', uri: 'y' }, { fullName: 'x' }],
    ['members that have a default', z.strictObject({ aB: z.int() }).default({ aB: 1 }), { a_b: 2 }, { aB: 2 }],
    ['nullable members', z.strictObject({ aB: z.int() }).nullable(), { a_b: 2 }, { aB: 2 }],
    ['a text that was never given', z.strictObject({ text: sourceOf(z.string()).optional() }), { text: null }, {}],
  ] as const)('with %s', ([, schema, shown, value]) => {
    const initial = Array.isArray(shown) ? [] : null;
    const { spec, secrets } = declare(member(schema, shown, { initial }));
    expect(spec).toEqual(value === undefined ? {} : { member: value });
    expect(secrets).toEqual([]);
  });

  const targets = ['One', 'Other'].map((title) => ({ title, prefix: title.toLowerCase() }));
  test.for([
    ['one kind, exported', targets.slice(0, 1), { id: 'one_1', uri: 'x' }, { name: 'first' }],
    ['several kinds, exported', targets, { id: 'one_1', uri: 'x' }, { kind: 'One', name: 'first' }],
    ['a resource that is not exported', targets, { id: 'one_2', uri: 'x' }, { id: 'one_2' }],
    ['an id', targets, 'one_1', { kind: 'One', name: 'first' }],
  ] as const)('that refers to %s', ([, to, shown, value]) => {
    expect(declare(member(refTo(to, 'it'), shown, { refersTo: 'one' })).spec).toEqual({ member: value });
    const many = member(z.array(refTo(to, 'it')), [shown], { refersTo: 'many' });
    expect(declare(many).spec).toEqual({ member: [value] });
  });
});

test.for([
  [sourceOf(z.string()), ['spec.member']],
  [sourceOf(z.string()).optional(), ['spec.member']],
  [provider, ['spec.member.github.clientId', 'spec.member.github.clientSecret', 'spec.member.google.clientId']],
  [z.string(), []],
] as const)('members that are given by source are found at any depth: %#', ([schema, paths]) => {
  expect(sourcesIn(schema, 'spec.member')).toEqual(paths);
});
