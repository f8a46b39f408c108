/** Every operation describes a bad body in our own words. */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { OPERATIONS } from '../../../src/api/families/all.ts';
import { parse } from '../../../src/api/http/validation.ts';

function refusals(schema: z.ZodType, value: unknown): Record<string, string> {
  try {
    parse(schema, value, 'body');
  } catch (error) {
    if (error instanceof ApiError) return error.details;
    throw error;
  }
  return {};
}

describe('no message of the validation library reaches a caller of', () => {
  const taking = OPERATIONS.flatMap(({ operationId, body }) => (body ? [[operationId, body] as const] : []));

  const long = 'x'.repeat(70_000);
  const values = [
    null,
    true,
    -1,
    1.5,
    JSON.parse('1e400'),
    1e300,
    '',
    'x',
    long,
    [],
    [null],
    Array(3_000).fill('x'),
    {},
    { x: 1 },
  ];
  const THEIRS = /invalid|expected|received|too (?:big|small)|unrecognized|>=|<=/i;

  test.each(taking)('%s', (_, body) => {
    const { properties = {} } = z
      .object({ properties: z.record(z.string(), z.unknown()).optional() })
      .parse(z.toJSONSchema(body, { io: 'input' }));
    const said = new Set<string>();
    for (const value of values) {
      const nested = [
        value,
        [value],
        { webhook: value },
        { webhook: { url: value } },
        { github: value },
        [{ cidr: value }],
      ];
      for (const each of nested) {
        for (const message of Object.values(refusals(body, each))) said.add(message);
        for (const name of Object.keys(properties)) {
          for (const message of Object.values(refusals(body, { [name]: each }))) said.add(message);
        }
      }
    }
    expect(said.size).toBeGreaterThan(0);
    for (const message of said) expect(message).not.toMatch(THEIRS);
  });
});
