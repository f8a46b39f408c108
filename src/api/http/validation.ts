/** Parses bodies and queries. Each of zod's issues becomes an entry of `details`, by JSON pointer or parameter. */
import { z } from 'zod';
import type { ReadOnlyMembers } from '../../resources/definition/read-only.ts';
import { type Details, invalidByRule, invalidRequest, pointerTo } from '../errors/errors.ts';
import { differing, isNone, MAX_PROBLEMS, memberOf, type SentBack, takeOut } from './read-only-members.ts';

/** Decides how members are named in `details`. */
type RequestPart = 'body' | 'query';

/** The parsed value. Throws INVALID_REQUEST naming every bad field. */
export function parse<T extends z.ZodType>(schema: T, value: unknown, part: RequestPart): z.output<T> {
  const result = schema.safeParse(value, ISSUE_MESSAGES);
  if (result.success) return result.data;
  const { found, fixed } = problems(result.error.issues, part, schema);
  throw invalidRequest(found, fixed);
}

interface Taken<T extends z.ZodType> {
  body: z.output<T>;
  /** Read-only members, which the operation must compare with what is stored. */
  sentBack: readonly SentBack[];
}

/** The body that an operation takes. */
export interface BodyOf<T extends z.ZodType> {
  schema: T;
  readOnly: ReadOnlyMembers;
  /** Nothing is stored yet: read-only members must be empty. */
  creates: boolean;
}

/** The parsed body of a request whose path has `params`. Throws INVALID_REQUEST naming every bad field. */
export function parseBody<T extends z.ZodType>(
  { schema, readOnly, creates }: BodyOf<T>,
  body: unknown,
  params: Readonly<Record<string, string>>,
): Taken<T> {
  const given = withoutParams(body, params);
  const { own, standIns } = withStandIns(given, readOnly);
  const first = schema.safeParse(own, ISSUE_MESSAGES);
  if (first.success) return { body: first.data, sentBack: [] };
  const { rest, taken } = takeOut(own, first.error.issues, readOnly);
  const sentBack = taken.map((one) => ({ ...one, at: sentPath(one.path, standIns) }));
  const read = rest === own ? first : schema.safeParse(rest, ISSUE_MESSAGES);
  const refused = creates ? differing(sentBack, ({ value }) => isNone(value)) : {};
  if (read.success && Object.keys(refused).length === 0) return { body: read.data, sentBack: creates ? [] : sentBack };
  const issues = (read.error?.issues ?? []).map((issue) => whereSent(issue, standIns));
  const { found, fixed } = problems(issues, 'body');
  throw invalidRequest({ ...found, ...refused }, { ...fixed, ...refused });
}

/** A body may repeat the ids in the path. Other ids are refused, since one of the two would be ignored. */
function withoutParams(body: unknown, params: Readonly<Record<string, string>>): object {
  const own = body === undefined ? {} : body;
  if (own === null || typeof own !== 'object' || Array.isArray(own)) {
    throw invalidByRule({ body: `must be a JSON object, not ${kindOf(own)}` });
  }
  const repeated = Object.entries(params).filter(([name]) => Object.hasOwn(own, name));
  if (repeated.length === 0) return own;
  const members = new Map<string, unknown>(Object.entries(own));
  for (const [name, value] of repeated) {
    const sent = members.get(name);
    if (sent !== value && !isNone(sent)) throw invalidByRule({ [`/${name}`]: `must equal the "${name}" in the path` });
    members.delete(name);
  }
  return Object.fromEntries(members);
}

/** By the member that is set: the member sent in its place, and the reason to give if that is invalid as a whole. */
type StandIns = ReadonlyMap<string, { name: string; reason: string }>;

/** Adds the members that others stand for. */
function withStandIns(body: object, { members }: ReadOnlyMembers): { own: object; standIns: StandIns } {
  const standIns = new Map<string, { name: string; reason: string }>();
  const added: Record<string, unknown> = {};
  for (const [name, { reason, standsFor }] of Object.entries(members)) {
    const sent = memberOf(body, name);
    if (!standsFor || isNone(sent) || memberOf(body, standsFor.member) !== undefined) continue;
    added[standsFor.member] = standsFor.read(sent);
    standIns.set(standsFor.member, { name, reason });
  }
  return { own: standIns.size === 0 ? body : { ...body, ...added }, standIns };
}

function sentPath(path: readonly PropertyKey[], standIns: StandIns): PropertyKey[] {
  const [member = '', ...inner] = path;
  return [standIns.get(String(member))?.name ?? member, ...inner];
}

/** The issue at the path at which its value was sent. */
function whereSent(issue: z.core.$ZodIssue, standIns: StandIns): z.core.$ZodIssue {
  const standIn = standIns.get(String(issue.path[0]));
  if (!standIn) return issue;
  const path = sentPath(issue.path, standIns);
  return path.length > 1 ? { ...issue, path } : { code: 'custom', path, message: standIn.reason, input: issue.input };
}

function problems(
  issues: readonly z.core.$ZodIssue[],
  part: RequestPart,
  schema?: z.ZodType,
): { found: Details; fixed: Details } {
  const found = new Map<string, string>();
  const fixed = new Map<string, string>();
  for (const [path, reason, own] of reasons(issues, part, schema)) {
    const name = nameOf(path, part);
    if (found.has(name)) continue;
    found.set(name, reason);
    fixed.set(name, own);
    if (found.size === MAX_PROBLEMS) break;
  }
  return { found: Object.fromEntries(found), fixed: Object.fromEntries(fixed) };
}

function* reasons(
  issues: readonly z.core.$ZodIssue[],
  part: RequestPart,
  schema: z.ZodType | undefined,
): Generator<[path: readonly PropertyKey[], reason: string, fixed: string]> {
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys) {
        const reason = part === 'body' ? issue.message : unknownParameter(schema);
        yield [[...issue.path, key], reason, reason];
      }
    // A repeated query parameter arrives as an array.
    else
      yield [
        issue.path,
        part === 'query' && Array.isArray(issue.input) ? 'must be given only once' : issue.message,
        fixedReason(issue),
      ];
  }
}

/** The reason without the messages of a family's schema, which may quote what was sent. */
function fixedReason(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_key' || issue.code === 'invalid_element') return 'has a bad name or element';
  return reasonOf(issue);
}

/** All names of members and parameters in these schemas. */
export function memberNames(...schemas: readonly z.ZodType[]): ReadonlySet<string> {
  const names = new Set<string>();
  const collect = (key: string, value: unknown) => {
    if (key === 'properties' && value !== null && typeof value === 'object')
      for (const name of Object.keys(value)) names.add(name);
    return value;
  };
  for (const schema of schemas) JSON.stringify(z.toJSONSchema(schema, { io: 'input' }), collect);
  return names;
}

/** Names those that exist: of a list, they differ by family. */
function unknownParameter(schema: z.ZodType | undefined): string {
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  return `unknown query parameter${known.length === 0 ? '' : `; known are ${known.join(', ')}`}`;
}

function nameOf(path: readonly PropertyKey[], part: RequestPart): string {
  if (part === 'query') return `?${path.map(String).join('.')}`;
  if (path.length === 0) return 'body';
  return pointerTo(path);
}

/** Parse options that replace zod's own messages; messages of our schemas take precedence. */
export const ISSUE_MESSAGES = { error: reasonOf, reportInput: true } satisfies z.core.ParseContext<z.core.$ZodIssue>;

function reasonOf(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): string {
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
      return 'unknown field';
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
  const quoted = values.map((value) => JSON.stringify(value));
  const choices = [quoted.slice(0, -1).join(', '), ...quoted.slice(-1)].filter(Boolean).join(' or ');
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
