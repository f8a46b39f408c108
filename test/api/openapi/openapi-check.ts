/** Checks accepted requests, and all responses, against the OpenAPI document. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { z } from 'zod';
import { OPERATIONS } from '../../../src/api/families/all.ts';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import { NOTHING_READ_ONLY, type ReadOnlyMembers } from '../../../src/resources/definition/read-only.ts';

const json = z.record(z.string(), z.unknown());
type Json = z.output<typeof json>;
const response = z.object({ content: z.object({ 'application/json': z.object({ schema: json }) }).optional() });
const body = z.object({ content: z.object({ 'application/json': z.object({ schema: json }) }) });
const operation = z.object({ requestBody: body.optional(), responses: z.record(z.string(), json) });

export const document = openApiDocument();
const paths = z.record(z.string(), z.record(z.string(), operation)).parse(document.paths);
const shared = z.object({ responses: z.record(z.string(), json) }).parse(document.components).responses;

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
ajv.addSchema({ $id: 'api', ...document });
const validators = new Map<string, ValidateFunction>();

/** Throws when the document does not allow this response. Paths outside the document pass. */
export function checkAgainstDocument(
  method: string,
  url: string,
  reply: { status: number; headers: Record<string, string>; text: string },
): void {
  const { path, responses } = documented(method, url) ?? {};
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
  check(content['application/json'].schema, JSON.parse(reply.text), what);
}

const sentBody = z.record(z.string(), z.unknown());

/** Throws when the document does not allow a body that the API has just accepted. */
export function checkTakenAgainstDocument(method: string, url: string, sent: unknown): void {
  const { data } = sentBody.safeParse(JSON.parse(JSON.stringify(sent)));
  const { path, template, requestBody } = documented(method, url) ?? {};
  if (!requestBody || !data) return;
  const { schema } = requestBody.content['application/json'];
  const operation = OPERATIONS.find((each) => each.method === method && each.path === template);
  // A body may repeat the ids of its path; the document does not spend members on that.
  const ids = path?.split('/').filter((segment) => segment.includes('_')) ?? [];
  const own = Object.entries(data).filter(([, value]) => typeof value !== 'string' || !ids.includes(value));
  const rest = withoutReadOnly(Object.fromEntries(own), operation?.readOnly ?? NOTHING_READ_ONLY);
  check(schema, withNull(rest, validatorOf(schema)), `${method} ${path} was taken, but`);
}

/** The schemas have only members that requests set; those that may be sent back unchanged are left to prose. */
function withoutReadOnly(body: Json, { members, inside }: ReadOnlyMembers): Json {
  const kept = Object.entries(body).filter(([name]) => !(name in members));
  const standIns = Object.entries(members).flatMap(([name, { standsFor }]) =>
    standsFor && name in body && !(standsFor.member in body) ? [[standsFor.member, standsFor.read(body[name])]] : [],
  );
  const all: Json = Object.fromEntries([...kept, ...standIns]);
  for (const [list, named] of Object.entries(inside)) {
    const elements = z.array(json).safeParse(all[list]).data;
    if (elements) all[list] = elements.map((each) => withoutReadOnly(each, { members: named, inside: {} }));
  }
  return all;
}

/** The schemas allow null for none, and leave "" for none to prose. */
function withNull(body: Json, validate: ValidateFunction): Json {
  if (validate(body)) return body;
  const changed = structuredClone(body);
  for (const { instancePath } of validate.errors ?? []) {
    const [name = '', ...above] = instancePath.slice(1).split('/').reverse();
    const holder = above.reduceRight<unknown>((node, part) => json.safeParse(node).data?.[part], changed);
    const { data } = json.safeParse(holder);
    if (data?.[name] === '') Reflect.set(Object(holder), name, null);
  }
  return changed;
}

function documented(method: string, url: string) {
  const path = url.split('?', 1)[0] ?? '';
  const [template, methods] = Object.entries(paths).find(([each]) => patternOf(each).test(path)) ?? [];
  const found = methods?.[method.toLowerCase()];
  return found && { ...found, path, template };
}

function check(schema: Json, value: unknown, what: string): void {
  const validate = validatorOf(schema);
  if (validate(value)) return;
  const fits = `${what} does not fit ${JSON.stringify(schema)}`;
  throw new Error(`${fits}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
}

function validatorOf(schema: Json): ValidateFunction {
  const { $ref } = z.object({ $ref: z.string() }).parse(schema);
  const validate = validators.get($ref) ?? ajv.compile({ $ref: `api${$ref}` });
  validators.set($ref, validate);
  return validate;
}

/** A parameter matches any one segment but `authenticate`, since `/credentials/authenticate` is a path of its own. */
function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '(?!authenticate$)[^/]+')}$`);
}

function resolve(found: Record<string, unknown>): unknown {
  const { $ref } = found;
  return typeof $ref === 'string' ? shared[$ref.replace('#/components/responses/', '')] : found;
}
