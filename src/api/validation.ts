/** From zod's issues to `details`: each problem under the place where the client finds it. */
import type { z } from 'zod';
import { type Details, invalidRequest } from './errors.ts';

/** A client that sends garbage gets this many reasons, not an answer as long as its request. */
const MAX_PROBLEMS = 50;

/** Where a value came from, which decides how its members are named. */
type Place = 'body' | 'query';

/** The parsed value. Throws INVALID_REQUEST naming every bad field. */
export function parse<T extends z.ZodType>(schema: T, value: unknown, place: Place): z.output<T> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw invalidRequest(problems(result.error.issues, place));
}

/**
 * The parsed body of a request whose path has `params`. A body may repeat them; what differs is refused, since one of
 * the two would be ignored.
 */
export function parseBody<T extends z.ZodType>(
  schema: T,
  body: unknown,
  params: Readonly<Record<string, string>>,
): z.output<T> {
  const own = body === undefined ? {} : body;
  if (own === null || typeof own !== 'object' || Array.isArray(own)) {
    throw invalidRequest({ body: `must be a JSON object, is ${kindOf(own)}` });
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

function problems(issues: readonly z.core.$ZodIssue[], place: Place): Details {
  const found: Record<string, string> = {};
  const add = (path: readonly PropertyKey[], reason: string) => {
    const name = nameOf(path, place);
    if (Object.keys(found).length < MAX_PROBLEMS) found[name] ??= reason;
  };
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys) add([...issue.path, key], unknown[place]);
    else add(issue.path, reasonOf(issue, place));
  }
  return found;
}

const unknown = { body: 'unknown field', query: 'unknown query parameter' } as const;

function nameOf(path: readonly PropertyKey[], place: Place): string {
  if (place === 'query') return `?${path.map(String).join('.')}`;
  if (path.length === 0) return 'body';
  // RFC 6901, section 3
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function reasonOf(issue: z.core.$ZodIssue, place: Place): string {
  // All values of a parameter that a query has more than once.
  if (place === 'query' && Array.isArray(issue.input)) return 'must be given once';
  if (issue.code !== 'invalid_type') return issue.message;
  if (issue.input === undefined) return 'is required';
  if (issue.expected === 'never') return 'is set by the service';
  if (issue.expected === 'int' && typeof issue.input === 'number') return 'must be a whole number';
  return `must be ${article(issue.expected)}, is ${kindOf(issue.input)}`;
}

const article = (type: string) => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`);

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return article(Array.isArray(value) ? 'array' : typeof value);
}
