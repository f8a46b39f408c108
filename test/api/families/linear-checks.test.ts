/** Checks of texts take linear time, so that no text blocks the process. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { OPERATIONS } from '../../../src/api/families/all.ts';
import { FAMILIES } from '../../../src/resources/families.ts';

/** What a pattern may repeat. In a run of these, a careless pattern starts anew at every place. */
const PIECES = [' ', '\t', '\n', '=', '.', '-', '/', 'a.', '%2F', '*.', ':', '\u200b'];
const LENGTH = 512 * 1024;
const texts = PIECES.flatMap((piece) => {
  const run = piece.repeat(LENGTH / piece.length);
  return [`a${run}b`, `ssh-rsa ${run}b`, `-----BEGIN CERTIFICATE-----${run}b`];
});

/** The schema and everything that it is made of, at any depth. */
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

/** Whether it is taken or refused. A transformation by itself expects what the checks before it let through. */
const check = (schema: z.ZodType, text: string) => {
  if (!(schema instanceof z.ZodTransform)) schema.safeParse(schema instanceof z.ZodArray ? [text] : text);
};

// A quadratic check would take minutes and run into the timeout.
test.each(bodies)('of %s', (_, schemas) => {
  for (const schema of news(schemas)) {
    for (const text of texts) check(schema, text);
  }
});

test('texts of all kinds were among them', () => {
  const ofTexts = [...checked].filter((schema) => schema instanceof z.ZodString);
  expect(ofTexts.length).toBeGreaterThan(50);
});
