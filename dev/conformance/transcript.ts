/** A conformance row as readable text: the requests, each followed by its response. */
import { layout, type Shape } from '../layout.ts';
import { type Expected, type Row, type Step, TIMESTAMP } from './row.ts';

/** The width of a code block on GitHub without scrolling. */
const WIDTH = 100;

export function transcript({ settings = {}, given = {}, ask, answer: first, later = [] }: Row): string {
  const exchanges = [[ask, first], ...later] as const;
  const differing = Object.entries(settings).map(([name, value]) => `server: ${name}=${value}`);
  return [
    ...differing,
    ...preparations(given),
    exchanges.map(([asked, seen]) => `${request(asked)}\n${answer(seen)}`).join('\n\n'),
  ].join('\n');
}

/** Requests that come first. The same one several times in a row is shown once, with all its names. */
function preparations(given: Readonly<Record<string, Step>>): string[] {
  const groups: { step: Step; made: string; names: string[] }[] = [];
  for (const [name, step] of Object.entries(given)) {
    const made = request(step);
    const last = groups.at(-1);
    if (last?.made === made) last.names.push(name);
    else groups.push({ step, made, names: [name] });
  }
  return groups.map(({ step, names }) => request(step, `${namesOf(names)} = `));
}

const namesOf = (names: readonly string[]) =>
  names.length <= 3 ? names.join(', ') : `${names.slice(0, 2).join(', ')}, … ${names.at(-1)}`;

function request({ method, path, body, headers = {}, as = 'admin' }: Step, label = ''): string {
  // A key in the request identifies the caller.
  const who = as === 'admin' || 'authorization' in headers ? '' : `${as}: `;
  const values = Object.entries(headers).map(([name, value]): [string, string] => [name, short(value)]);
  return message(`${label}${who}${method} ${path}`, values, body === undefined ? undefined : shapeOf(body));
}

function answer({ status, body, headers = {} }: Expected): string {
  const values = Object.entries(headers).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? short(value) : leaf(value),
  ]);
  const error = errorOf(body);
  if (error) return message(`← ${status} ${error.code}`, values, error.details);
  return message(`← ${status}`, values, body === undefined ? undefined : shapeOf(body));
}

/** Headers have a line each, and the body comes after them, as in HTTP. */
function message(start: string, headers: readonly (readonly [string, string])[], body: Shape | undefined): string {
  if (headers.length === 0) {
    return body === undefined ? start : `${start} ${layout(body, { width: WIDTH, column: start.length + 1 })}`;
  }
  const lines = [start, ...headers.map(([name, value]) => `  ${name}: ${value}`.trimEnd())];
  if (body !== undefined) lines.push(`  ${layout(body, { width: WIDTH, column: 2, indent: 2 })}`);
  return lines.join('\n');
}

/** An error's code and details; the rest of its body is always the same. */
function errorOf(body: unknown): { code: string; details: Shape | undefined } | undefined {
  if (body === null || typeof body !== 'object' || !('error_code' in body) || !('details' in body)) return undefined;
  const details = shapeOf(body.details);
  return { code: String(body.error_code), details: layout(details, { width: WIDTH }) === '{}' ? undefined : details };
}

/** Not quite JSON: long texts are cut, and patterns and absent members have their own notation. */
function shapeOf(value: unknown): Shape {
  if (Array.isArray(value)) {
    return { brackets: '[]', members: some(value, 3).map((one) => ({ label: '', value: one })) };
  }
  if (value === null || typeof value !== 'object' || value instanceof RegExp) return leaf(value);
  const members = Object.entries(value).map(([name, one]) => ({
    label: `${JSON.stringify(short(name))}: `,
    value: shapeOf(one),
  }));
  if (members.length <= MOST_MEMBERS) return { brackets: '{}', members };
  return { brackets: '{}', members: [...members.slice(0, 3), { label: '', value: inAll(members.length) }] };
}

function leaf(value: unknown): string {
  if (value === TIMESTAMP) return '<RFC 3339>';
  if (value instanceof RegExp) return pattern(value);
  if (value === undefined) return '<absent>';
  return JSON.stringify(typeof value === 'string' ? short(value) : value);
}

/** More members than any of our resources has. */
const MOST_MEMBERS = 18;

/** All of them, or the first of too many. */
function some(members: readonly unknown[], most: number): Shape[] {
  if (members.length <= most) return members.map(shapeOf);
  return [...members.slice(0, most).map(shapeOf), inAll(members.length)];
}

const inAll = (count: number) => `… ${count} in all`;

const LONGEST = 60;

function short(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e\u00a0-\uffff]/g, (odd) => JSON.stringify(odd).slice(1, -1));
  return plain.length <= LONGEST ? plain : `${plain.slice(0, 20)}… (${Buffer.byteLength(text)} bytes)`;
}

function pattern(regex: RegExp): string {
  const prefix = /^\^(\w+)_\[0-7\]/.exec(regex.source)?.[1];
  return prefix === undefined ? String(regex) : `<${prefix}_…>`;
}
