import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { crd, crdFileName, crdYaml } from '../../../src/operator/crds/crd.ts';
import type { CelRule } from '../../../src/operator/managed/declaration/cel.ts';
import { kind } from '../../../src/operator/managed/declaration/kind.ts';
import { bytes, form, instant, pattern } from '../../../src/resources/formats/text.ts';

/** A kind with defaults for everything that a test does not set. */
const kindWith = (shape: z.ZodRawShape, rules: readonly CelRule[] = []) =>
  kind({
    kind: 'Thing',
    shortNames: ['th'],
    description: 'Anything.',
    spec: shape,
    status: { size: z.int().optional() },
    rules,
    printerColumns: [{ name: 'Size', type: 'integer', jsonPath: '.status.size', description: 'Its size.' }],
    external: () => {
      throw new Error('not connected');
    },
    describe: () => ({}),
  });

const schemaOf = (shape: z.ZodRawShape, rules: readonly CelRule[] = []) => {
  const schema = crd(kindWith(shape, rules)).spec.versions[0]?.schema.openAPIV3Schema;
  return z.looseObject({ properties: z.record(z.string(), z.record(z.string(), z.unknown())) }).parse(schema);
};
const fieldOf = (field: z.ZodType) =>
  z.record(z.string(), z.unknown()).parse(schemaOf({ field }).properties.spec?.properties).field;

const rule: CelRule = { rule: 'self != ""', message: 'must not be empty', fieldPath: '.field' };

describe('a field of a structural schema', () => {
  test.each<[string, z.ZodType, object]>([
    [
      'keeps type, bounds and description',
      z.string().max(9).describe('What.'),
      { type: 'string', maxLength: 9, description: 'What.' },
    ],
    ['keeps its default', z.enum(['A', 'B']).default('A'), { type: 'string', enum: ['A', 'B'], default: 'A' }],
    ['has no bounds that are only those of its type', z.int(), { type: 'integer' }],
    [
      'has an exclusive bound as the API server writes it',
      z.number().gt(0),
      { type: 'number', minimum: 0, exclusiveMinimum: true },
    ],
    ['keeps bounds of its own', z.int().min(1).max(5), { type: 'integer', minimum: 1, maximum: 5 }],
    [
      'has its rules as validations',
      z.string().meta({ 'x-cel': [rule] }),
      { type: 'string', 'x-kubernetes-validations': [rule] },
    ],
    ['that is a time has the format that the API server knows', instant(), { type: 'string', format: 'date-time' }],
    [
      'has its pattern as the API server writes it',
      z.string().meta(form({ pattern: '^[^\\u0000-\\u001f]*\\\\u$' })),
      { type: 'string', pattern: '^[^\\x{0000}-\\x{001f}]*\\\\u$' },
    ],
    ['without rules has no validations', z.string().meta({ 'x-cel': [] }), { type: 'string' }],
    [
      'bounded in bytes has a rule for that bound',
      bytes(255),
      {
        type: 'string',
        maxLength: 255,
        'x-kubernetes-validations': [
          { rule: 'bytes(self).size() <= 255', message: 'must be at most 255 bytes of UTF-8' },
        ],
      },
    ],
    [
      'that is a list with keys is a map list',
      z.array(z.object({ name: z.string() })).meta({ 'x-list-map-keys': ['name'] }),
      {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
      },
    ],
    [
      'that is a map has a schema for its values',
      z.record(z.string(), z.string().max(3)),
      { type: 'object', additionalProperties: { type: 'string', maxLength: 3 } },
    ],
    [
      'is translated at any depth',
      z.object({ list: z.array(z.object({ deep: z.string().meta({ 'x-cel': [rule] }) })) }),
      {
        type: 'object',
        required: ['list'],
        properties: {
          list: {
            type: 'array',
            items: {
              type: 'object',
              required: ['deep'],
              properties: { deep: { type: 'string', 'x-kubernetes-validations': [rule] } },
            },
          },
        },
      },
    ],
    [
      'with a pattern has a rule with its message',
      z.string().regex(/^a+$/, 'must be a row of a'),
      { type: 'string', 'x-kubernetes-validations': [{ rule: "self.matches('^a+$')", message: 'must be a row of a' }] },
    ],
    [
      'whose pattern has a message has a rule with it, besides its other rules',
      bytes(9).meta({ maxLength: 9, 'x-max-bytes': 9, ...pattern(/^a+$/, 'must be a row of a, as in aa') }),
      {
        type: 'string',
        maxLength: 9,
        'x-kubernetes-validations': [
          { rule: 'bytes(self).size() <= 9', message: 'must be at most 9 bytes of UTF-8' },
          { rule: "self.matches('^a+$')", message: 'must be a row of a, as in aa' },
        ],
      },
    ],
    [
      'that is a list of bounded texts has such a rule for each',
      z.array(z.string().max(9).regex(/^a+$/, 'must be a row of a')),
      {
        type: 'array',
        items: {
          type: 'string',
          maxLength: 9,
          'x-kubernetes-validations': [{ rule: "self.matches('^a+$')", message: 'must be a row of a' }],
        },
      },
    ],
    [
      'that is a list of unbounded texts keeps the pattern, since a rule for each would cost too much',
      z.array(z.string().regex(/^a+$/, 'must be a row of a')),
      { type: 'array', items: { type: 'string', pattern: '^a+$' } },
    ],
    ['has no examples', z.string().meta({ examples: ['a'] }), { type: 'string' }],
  ])('%s', (_, field, expected) => {
    expect(fieldOf(field)).toEqual(expected);
  });

  test('with an invalid rule is rejected', () => {
    expect(() => fieldOf(z.string().meta({ 'x-cel': [{ rule: 'self' }] }))).toThrow(z.ZodError);
  });
});

describe('the schema of an object', () => {
  test('has a spec by default where no field is required', () => {
    const schema = schemaOf({ field: z.string().optional() });
    expect(schema.properties.spec?.default).toEqual({});
    expect(schema).not.toHaveProperty('required');
  });

  test('requires a spec where a field is required', () => {
    const schema = schemaOf({ field: z.string() });
    expect(schema.properties.spec).not.toHaveProperty('default');
    expect(schema).toMatchObject({ required: ['spec'] });
  });

  test('has the policies of every kind, and its own rules', () => {
    const { spec } = schemaOf({}, [rule]).properties;
    expect(Object.keys(Object(spec?.properties)).sort()).toEqual([
      'connectionRef',
      'deletionPolicy',
      'managementPolicy',
    ]);
    expect(spec?.['x-kubernetes-validations']).toEqual([
      rule,
      expect.objectContaining({ fieldPath: '.connectionRef' }),
    ]);
  });

  test('has the status of every kind, and its own members', () => {
    const { status } = schemaOf({}).properties;
    expect(Object.keys(Object(status?.properties))).toEqual(expect.arrayContaining(['id', 'conditions', 'size']));
    expect(status).not.toHaveProperty('required');
  });

  test('has a status that is about no generation, until the operator writes one', () => {
    const { status } = schemaOf({}).properties;
    const ready = { type: 'Ready', status: 'Unknown', reason: 'Pending', lastTransitionTime: '1970-01-01T00:00:00Z' };
    expect(status?.default).toMatchObject({ observedGeneration: -1, conditions: [ready] });
    expect(Object(status?.properties).observedGeneration).toMatchObject({ type: 'integer', default: -1 });
  });
});

test('a CRD has the names and columns of its kind', () => {
  const { metadata, spec } = crd(kindWith({}));
  expect(metadata.name).toBe('things.tunnel-operator.dev');
  expect(spec.names).toMatchObject({ kind: 'Thing', listKind: 'ThingList', plural: 'things', shortNames: ['th'] });
  expect(spec.versions[0]?.additionalPrinterColumns.map(({ name }) => name)).toEqual([
    'Ready',
    'Size',
    'Reason',
    'Message',
    'Age',
  ]);
  expect(crdFileName(kindWith({}))).toBe('tunnel-operator.dev_things.yaml');
  expect(crdYaml(kindWith({}))).toMatch(/^# Generated .*\napiVersion: apiextensions\.k8s\.io\/v1\n/);
});
