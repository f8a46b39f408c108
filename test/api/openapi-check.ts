/** Holds an answer against the OpenAPI document: its status must be documented, and its body fit the schema. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { z } from 'zod';
import { openApiDocument } from '../../src/api/openapi.ts';

const json = z.record(z.string(), z.unknown());
const response = z.object({ content: z.object({ 'application/json': z.object({ schema: json }) }).optional() });
const operation = z.object({ responses: z.record(z.string(), json) });

export const document = openApiDocument();
const paths = z.record(z.string(), z.record(z.string(), operation)).parse(document.paths);
const shared = z.object({ responses: z.record(z.string(), json) }).parse(document.components).responses;

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema({ $id: 'api', ...document });
const validators = new Map<string, ValidateFunction>();

/** Throws when the document does not allow this answer. Paths outside the document pass. */
export function checkAgainstDocument(
  method: string,
  url: string,
  reply: { status: number; headers: Record<string, string>; text: string },
): void {
  const path = url.split('?', 1)[0] ?? '';
  const documented = Object.entries(paths).find(([template]) => patternOf(template).test(path))?.[1];
  const responses = documented?.[method.toLowerCase()]?.responses;
  if (!responses) return;
  const found = responses[reply.status];
  const what = `${method} ${path} → ${reply.status}`;
  if (!found) throw new Error(`${what} is not documented: ${reply.text}`);
  const { content } = response.parse(resolve(found));
  if (!content) {
    if (reply.text !== '') throw new Error(`${what} is documented without a body: ${reply.text}`);
    return;
  }
  if (!reply.headers['content-type']?.startsWith('application/json')) throw new Error(`${what} is not JSON`);
  const { $ref } = z.object({ $ref: z.string() }).parse(content['application/json'].schema);
  const validate = validators.get($ref) ?? ajv.compile({ $ref: `api${$ref}` });
  validators.set($ref, validate);
  if (!validate(JSON.parse(reply.text))) {
    throw new Error(`${what} does not fit ${$ref}: ${ajv.errorsText(validate.errors)}\n${reply.text}`);
  }
}

/** `/ip_policies/{id}` matches one segment; a literal path such as `/credentials/authenticate` is found by order. */
function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '(?!authenticate$)[^/]+')}$`);
}

function resolve(found: Record<string, unknown>): unknown {
  const { $ref } = found;
  return typeof $ref === 'string' ? shared[$ref.replace('#/components/responses/', '')] : found;
}
