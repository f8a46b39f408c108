import { expect, test } from 'vitest';
import { z } from 'zod';
import { Blocked } from '../../../../src/operator/managed/declaration/external.ts';
import { readSpec } from '../../../../src/operator/managed/declaration/spec.ts';
import { object } from '../../objects.ts';

const schema = z.object({ name: z.string(), list: z.array(z.object({ size: z.int() })).default([]) });

test.each([
  ['the field', { name: 1 }, 'spec.name: '],
  ['the element of a list', { name: 'a', list: [{ size: 1 }, { size: 'x' }] }, 'spec.list[1].size: '],
  ['a required field if there is no spec', undefined, 'spec.name: '],
])('an invalid spec is reported with %s', (_, spec, expected) => {
  expect(() => readSpec(schema, object({ spec }))).toThrow(Blocked);
  expect(() => readSpec(schema, object({ spec }))).toThrow(expected);
});

test('a valid spec gets its defaults', () => {
  expect(readSpec(schema, object({ spec: { name: 'a' } }))).toEqual({ name: 'a', list: [] });
});
