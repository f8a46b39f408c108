/** What a kind takes from its family, and what it refuses to take. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../../src/client/client.ts';
import { crd } from '../../../src/operator/crds/crd.ts';
import { bodyOf, differing, type FamilyCalls } from '../../../src/operator/kinds/external-of-family.ts';
import { familyFields, specSchemaOf } from '../../../src/operator/kinds/family-fields.ts';
import { plainKind } from '../../../src/operator/kinds/plain-kind.ts';
import { tlsCertificateKind } from '../../../src/operator/kinds/tls-certificate.ts';
import { DigestedText } from '../../../src/operator/managed/declaration/digest.ts';
import { pluralOf } from '../../../src/operator/managed/declaration/kind.ts';
import { botUser } from '../../../src/resources/bot-user.ts';
import { orNone } from '../../../src/resources/definition/none.ts';
import { optionalReference, references, requiredReferences } from '../../../src/resources/definition/reference.ts';
import {
  derived,
  type Fields,
  field,
  optional,
  type Resource,
  required,
  resource,
  writeOnly,
} from '../../../src/resources/definition/resource.ts';
import { bytes, second, shownSecond, showSecond } from '../../../src/resources/formats/text.ts';

const family = <F extends Fields>(fields: F): Resource<F> =>
  resource({
    name: 'thing',
    title: 'Thing',
    prefix: 'th',
    path: '/things',
    collection: 'things',
    tag: 'Things',
    description: 'A thing.',
    fields,
    samples: { least: {}, full: {}, change: {} },
  });

const FIELDS = {
  display_name: required(bytes(30).meta({ description: 'What it is called.' })),
  host_name: required(z.string(), { update: false }),
  region: field(z.string(), z.nullable(z.string()), 'optional', false, null),
  note: optional(z.string()),
  active: field(z.boolean(), z.boolean(), 'optional', true, true),
  ends_at: { ...field(shownSecond().nullable(), orNone(second()), 'optional', true, null), show: showSecond },
  cname_target: derived(z.string().nullable().meta({ description: 'Where to point the domain.' })),
};
const calls = (): FamilyCalls<{ id: string; uri: string }> => {
  throw new Error('not called');
};
const options = { kind: 'Policy', shortNames: ['po'], calls };

describe('the CRD of a plain kind', () => {
  const { names, versions } = crd(plainKind(family(FIELDS), { ...options, columns: ['active'] })).spec;
  const schema = z
    .object({ properties: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .parse(versions[0]?.schema.openAPIV3Schema);
  const { spec, status } = schema.properties;

  test('has names that follow from the kind', () => {
    expect(names).toMatchObject({ plural: 'policies', singular: 'policy', shortNames: ['po'] });
  });

  test('has the request fields in its spec, in camelCase, with required members, limits, defaults and descriptions', () => {
    expect(spec?.required).toEqual(['displayName', 'hostName']);
    expect(spec?.properties).toMatchObject({
      displayName: {
        type: 'string',
        maxLength: 30,
        description: 'What it is called.',
        'x-kubernetes-validations': [{ rule: 'bytes(self).size() <= 30' }],
      },
      hostName: { type: 'string', description: 'Immutable.' },
      note: { type: 'string' },
      active: { type: 'boolean', default: true },
    });
    expect(spec?.properties).not.toHaveProperty('cnameTarget');
  });

  test('has what only the service sets in its status', () => {
    expect(status?.properties).toMatchObject({ cnameTarget: { description: 'Where to point the domain.' } });
  });

  test('keeps immutable fields as they are, present or absent', () => {
    expect(spec?.['x-kubernetes-validations']).toMatchObject([
      { rule: 'self.hostName == oldSelf.hostName', fieldPath: '.hostName' },
      { rule: 'has(self.region) == has(oldSelf.region) && (!has(self.region) || self.region == oldSelf.region)' },
    ]);
  });

  test('has a column for the field, and the id', () => {
    const columns = versions[0]?.additionalPrinterColumns.map(({ name, type, jsonPath }) => [name, type, jsonPath]);
    expect(columns).toContainEqual(['Active', 'boolean', '.spec.active']);
    expect(columns).toContainEqual(['ID', 'string', '.status.id']);
  });
});

describe('the body of a request', () => {
  const fields = familyFields({ fields: FIELDS });
  test.each([
    [
      { displayName: 'a', hostName: 'h' },
      { display_name: 'a', host_name: 'h', note: null, active: true, ends_at: null },
    ],
    [
      { displayName: 'a', hostName: 'h', region: 'eu', note: 'n', active: false },
      { display_name: 'a', host_name: 'h', region: 'eu', note: 'n', active: false, ends_at: null },
    ],
  ])('of %j is %j', (spec, body) => expect(bodyOf(fields, spec)).toEqual(body));
});

const END = '2099-01-01T00:00:00Z';

describe('a resource differs', () => {
  const fields = familyFields({ fields: FIELDS });
  const remote = {
    display_name: 'a',
    host_name: 'h',
    region: 'eu',
    note: null,
    active: true,
    ends_at: END,
    cname_target: 'x',
  };
  const spec = { displayName: 'a', hostName: 'h', endsAt: END };
  test.each([
    ['in nothing, where a time is written otherwise', { ...spec, endsAt: '2099-01-01T01:00:00.000+01:00' }, []],
    ['in a time', { ...spec, endsAt: '2099-01-01T00:00:01Z' }, ['endsAt']],
    ['in nothing, whatever an immutable field has that was left out', spec, []],
    ['in a field that is declared otherwise', { ...spec, displayName: 'b' }, ['displayName']],
    ['in an immutable field', { ...spec, region: 'us' }, ['region']],
    ['in a field that has its initial value again', { ...spec, note: 'n' }, ['note']],
  ])('%s', (_, declared, members) => expect(differing(fields, declared, remote)).toEqual(members));
});

describe('a plain kind is refused by name when its family', () => {
  test.each([
    ['has a secret', family({ key_pem: writeOnly(z.string()) }), 'the field key_pem is a secret'],
    ['hands out a token', family({ token: derived(z.string().nullable(), 'none') }), 'token is shown only once'],
  ])('%s', (_, given, problem) => {
    expect(() => plainKind<Fields, { id: string; uri: string }>(given, options)).toThrow(
      new RegExp(`^Policy cannot be a plain kind of the family thing: .*${problem}`),
    );
  });

  test('unless the kind omits or declares the field, or takes it from a source', () => {
    const given = family({ key_pem: writeOnly(z.string()) });
    expect(() => plainKind(given, { ...options, sources: ['key_pem'] })).not.toThrow();
    expect(() => plainKind(given, { ...options, omit: ['key_pem'] })).not.toThrow();
    expect(() => plainKind(given, { ...options, spec: { keyPem: z.string() } })).not.toThrow();
  });
});

describe('a field of another form', () => {
  const given = family({
    bot_id: optionalReference([botUser], 'bot', 'A bot.'),
    bot_ids: references([botUser], 'bots', 'Bots.', { max: 7 }),
    target: required(z.object({ host_name: z.string(), weights: z.record(z.string(), z.int()).optional() })),
    pem: required(z.string().max(99), { update: false }),
  });
  const made = plainKind<Fields, { id: string; uri: string }>(given, {
    ...options,
    sources: ['pem'],
    replaced: ['pem'],
  });
  const { versions } = crd(made).spec;
  const spec = z
    .object({ properties: z.object({ spec: z.record(z.string(), z.unknown()) }) })
    .parse(versions[0]?.schema.openAPIV3Schema).properties.spec;

  test('has its own form in the CRD: references, sources, and members in camelCase', () => {
    expect(spec.properties).toMatchObject({
      botRef: { properties: { name: {}, namespace: {}, id: {} } },
      botRefs: { type: 'array', maxItems: 7, items: { properties: { name: {} } } },
      target: { properties: { hostName: { type: 'string' }, weights: {} }, required: ['hostName'] },
      pem: { properties: { value: { maxLength: 99 }, secretKeyRef: {}, configMapKeyRef: {} } },
    });
    // It is replaced, so that it need not stay.
    expect(spec['x-kubernetes-validations']).toBeUndefined();
  });

  const fields = familyFields(given);
  const resolved = {
    botRef: 'bot_1',
    botRefs: ['bot_1', 'bot_2'],
    target: { hostName: 'h', weights: { a_b: 1 } },
    pem: 'text',
  };
  const shown = {
    bot: { id: 'bot_1', uri: 'u' },
    bots: [
      { id: 'bot_1', uri: 'u' },
      { id: 'bot_2', uri: 'u' },
    ],
    target: { host_name: 'h', weights: { a_b: 1 } },
    pem: 'text',
  };

  test('is sent as the API has it, with the keys of maps as they are', () => {
    expect(bodyOf(fields, resolved)).toEqual({
      bot_id: 'bot_1',
      bot_ids: ['bot_1', 'bot_2'],
      target: { host_name: 'h', weights: { a_b: 1 } },
      pem: 'text',
    });
  });

  const digested = (text: string) => new DigestedText((other) => other === text);
  test.each([
    ['nothing', resolved, shown, []],
    ['a reference', { ...resolved, botRef: 'bot_2' }, shown, ['botRef']],
    ['a reference that was taken out', { ...resolved, botRef: undefined }, shown, ['botRef']],
    ['the order of references', { ...resolved, botRefs: ['bot_2', 'bot_1'] }, shown, ['botRefs']],
    ['a member', { ...resolved, target: { hostName: 'other' } }, shown, ['target']],
    ['nothing that a digest tells', { ...resolved, pem: digested('text') }, shown, []],
    ['what a digest tells', { ...resolved, pem: digested('other') }, shown, ['pem']],
  ])('differs in %s', (_, desired, observed, members) => {
    expect(differing(fields, desired, observed)).toEqual(members);
  });
});

test.each([
  ['ippolicy', 'ippolicies'],
  ['apikey', 'apikeys'],
  ['tlsedgemodules', 'tlsedgemodules'],
])('the plural of %s is %s', (singular, plural) => {
  expect(pluralOf(singular)).toBe(plural);
});

test('a list of references says what its family says', () => {
  const given = familyFields({ fields: { bot_ids: requiredReferences([botUser], 'bots', 'Who may.', { max: 7 }) } });
  expect(given.map((each) => specSchemaOf(each).meta()?.description)).toEqual(['Who may.']);
});

test('each value of a map that is given by source may be as long as the longest that the API takes', () => {
  const given = familyFields({ fields: { headers: required(z.record(z.string(), z.string())) } });
  const isTaken = (length: number) =>
    given.map((each) => specSchemaOf(each, ['headers']).safeParse({ a: { value: 'x'.repeat(length) } }).success);
  expect([isTaken(16_384), isTaken(16_385)]).toEqual([[true], [false]]);
});

test('what cannot be changed is named as the spec has it', () => {
  const external = tlsCertificateKind.external(createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k' }));
  const spec = {
    secretRef: { 'tls.crt': 'new', 'tls.key': 'key' },
    deletionPolicy: 'Delete',
    managementPolicy: 'Manage',
  };
  const remote = { id: 'cert_1', uri: 'https://api.example.com/tls_certificates/cert_1', certificate_pem: 'old' };
  expect(external.immutableChanges(spec as never, remote as never)).toEqual(['secretRef["tls.crt"]']);
  expect(external.replacingChanges(spec as never, remote as never)).toEqual(['secretRef["tls.crt"]']);
});
