/** From zod's issues to `details`: each problem under the pointer, parameter or header that has it. */
import type { z } from 'zod';
import { type Details, invalidRequest } from '../errors/errors.ts';

/** A client that sends garbage gets at most this many reasons, so that the response cannot grow with the request. */
const MAX_PROBLEMS = 50;

/** Where a value came from; decides how its members are named. */
type RequestPart = 'body' | 'query';

/** The parsed value. Throws INVALID_REQUEST naming every bad field. */
export function parse<T extends z.ZodType>(schema: T, value: unknown, part: RequestPart): z.output<T> {
  const result = schema.safeParse(value, IN_OUR_WORDS);
  if (result.success) return result.data;
  throw invalidRequest(problems(result.error.issues, part));
}

/**
 * The parsed body of a request whose path has `params`. A body may repeat them; a different value is refused, since one
 * of the two would be ignored.
 */
export function parseBody<T extends z.ZodType>(
  schema: T,
  body: unknown,
  params: Readonly<Record<string, string>>,
): z.output<T> {
  const own = body === undefined ? {} : body;
  if (own === null || typeof own !== 'object' || Array.isArray(own)) {
    throw invalidRequest({ body: `must be a JSON object, not ${kindOf(own)}` });
  }
  const repeated = Object.entries(params).filter(([name]) => Object.hasOwn(own, name));
  if (repeated.length === 0) return parse(schema, own, 'body');
  const members = new Map<string, unknown>(Object.entries(own));
  for (const [name, value] of repeated) {
    if (members.get(name) !== value) throw invalidRequest({ [`/${name}`]: `must equal the "${name}" in the path` });
    members.delete(name);
  }
  return parse(schema, Object.fromEntries(members), 'body');
}

function problems(issues: readonly z.core.$ZodIssue[], part: RequestPart): Details {
  const found: Record<string, string> = {};
  const add = (path: readonly PropertyKey[], reason: string) => {
    const name = nameOf(path, part);
    if (Object.keys(found).length < MAX_PROBLEMS) found[name] ??= reason;
  };
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys) add([...issue.path, key], unknown[part]);
    // A repeated query parameter arrives as an array.
    else add(issue.path, part === 'query' && Array.isArray(issue.input) ? 'must be given only once' : issue.message);
  }
  return found;
}

const unknown = { body: 'unknown field', query: 'unknown query parameter' } as const;

function nameOf(path: readonly PropertyKey[], part: RequestPart): string {
  if (part === 'query') return `?${path.map(String).join('.')}`;
  if (path.length === 0) return 'body';
  // RFC 6901, section 3
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Parse options that replace zod's own messages; messages of our schemas take precedence. */
export const IN_OUR_WORDS = { error: reasonOf, reportInput: true } satisfies z.core.ParseContext<z.core.$ZodIssue>;

function reasonOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeProblem(issue.expected, issue.input);
    case 'invalid_value':
      return valueProblem(issue.values, issue.input);
    case 'too_big':
      return sizeProblem(issue.origin, Number(issue.maximum), issue.inclusive === false ? 'less than' : 'at most');
    case 'too_small':
      return issue.origin === 'string' && issue.minimum === 1
        ? 'must not be empty'
        : sizeProblem(issue.origin, Number(issue.minimum), issue.inclusive === false ? 'more than' : 'at least');
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return issue.pattern === undefined || issue.format !== 'regex'
        ? `must be a valid ${issue.format}`
        : `must match ${issue.pattern.replace(/^\/(.*)\/\w*$/, '$1')}`;
    case 'invalid_key':
      return `the name: ${innerReason(issue.issues)}`;
    case 'invalid_element':
      return innerReason(issue.issues);
    case 'invalid_union':
      return 'matches none of the allowed forms';
    case 'unrecognized_keys':
      return `unknown fields: ${issue.keys.join(', ')}`;
    case 'custom':
      return 'is not valid';
    default:
      return issue satisfies never;
  }
}

function typeProblem(expected: string, input: unknown): string {
  if (input === undefined) return 'is required';
  if (expected === 'never') return 'is set by the service';
  if (expected === 'int' && typeof input === 'number') return 'must be a whole number';
  if (expected === 'number' && typeof input === 'number') return 'must be a finite number';
  return `must be ${article(expected === 'record' ? 'object' : expected)}, not ${kindOf(input)}`;
}

function valueProblem(values: readonly unknown[], input: unknown): string {
  if (input === undefined) return 'is required';
  const said = values.map((value) => JSON.stringify(value));
  const choices = [said.slice(0, -1).join(', '), ...said.slice(-1)].filter(Boolean).join(' or ');
  return values.some((value) => typeof value === typeof input)
    ? `must be ${choices}`
    : `must be ${choices}, not ${kindOf(input)}`;
}

function sizeProblem(origin: string, bound: number, relation: string): string {
  if (origin === 'string') return `must be ${relation} ${bound} character${bound === 1 ? '' : 's'}`;
  return `must ${origin === 'number' || origin === 'int' ? 'be' : 'have'} ${relation} ${bound}`;
}

/** The reason of an inner issue, whose message has already been replaced. */
const innerReason = (issues: readonly { message?: string | undefined }[]) => issues[0]?.message ?? 'is not valid';

const article = (type: string) => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`);

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return article(Array.isArray(value) ? 'array' : typeof value);
}
