/** What a schema says of a text for the CRDs and the OpenAPI document. */
import { z } from 'zod';

const meta = z.object({
  'x-form': z.object({ pattern: z.string() }),
  'x-refused': z.array(z.object({ found: z.string(), unless: z.string().optional() })).default([]),
});

/** Whether a CRD with the schema accepts the text, apart from its length. */
export function hasForm(schema: z.ZodType, text: string): boolean {
  const { 'x-form': form, 'x-refused': refused } = meta.parse(schema.meta());
  const matches = (pattern: string | undefined) => pattern !== undefined && new RegExp(pattern).test(text);
  return matches(form.pattern) && refused.every(({ found, unless }) => !matches(found) || matches(unless));
}
