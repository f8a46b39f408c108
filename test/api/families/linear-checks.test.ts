/** Checks of strings take linear time, so that no string blocks the process. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../../../src/api/families/all.ts';
import { FAMILIES } from '../../../src/resources/families.ts';

/** Pieces that a pattern may repeat. In a long run of one, a careless pattern starts again at every position. */
const PIECES = [' ', '\t', '\n', '=', '.', '-', '/', 'a.', '%2F', '*.', ':', '\u200b'];
const LENGTH = 512 * 1024;
const texts = PIECES.flatMap((piece) => {
  const run = piece.repeat(LENGTH / piece.length);
  return [`a${run}b`, `ssh-rsa ${run}b`, `-----BEGIN CERTIFICATE-----${run}b`];
});

/** Collects the schema and all its parts, at any depth. */
function collect(schema: unknown, into: Set<z.ZodType>): void {
  if (!(schema instanceof z.ZodType) || into.has(schema)) return;
  into.add(schema);
  const shape = schema instanceof z.ZodObject ? schema.shape : {};
  for (const part of [...Object.values(schema.def), ...Object.values(shape)]) {
    for (const each of Array.isArray(part) ? part : [part]) collect(each, into);
  }
}

const checked = new Set<z.ZodType>();
const news = (schemas: readonly unknown[]) => {
  const before = new Set(checked);
  for (const schema of schemas) collect(schema, checked);
  return [...checked].filter((schema) => !before.has(schema));
};
const bodies = [
  ...FAMILIES.map(({ name, fields }) => [name, Object.values(fields).map(({ input }) => input)] as const),
  ...OPERATIONS.flatMap(({ method, path, body }) => (body ? [[`${method} ${path}`, [body]] as const] : [])),
];

/** The result does not matter. Skips a bare transformation, which expects values that earlier checks let through. */
const check = (schema: z.ZodType, text: string) => {
  if (!(schema instanceof z.ZodTransform)) schema.safeParse(schema instanceof z.ZodArray ? [text] : text);
};

// A quadratic check would take minutes and run into the timeout.
test.each(bodies)('checks of %s take linear time', (_, schemas) => {
  for (const schema of news(schemas)) {
    for (const text of texts) check(schema, text);
  }
});

test('many schemas of strings were among those checked', () => {
  const ofTexts = [...checked].filter((schema) => schema instanceof z.ZodString);
  expect(ofTexts.length).toBeGreaterThan(50);
});
