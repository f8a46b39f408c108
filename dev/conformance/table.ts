/** The conformance table as Markdown. */
import { type Answer, type Row, type Section, type Step, TIMESTAMP } from './row.ts';

/** What became of a row, for the printed table; the published one has none. */
export type Outcome = (row: Row) => string;

export function table(sections: readonly Section[], outcome?: Outcome): string {
  return sections.map((section) => `## ${section.title}\n\n${sectionTable(section, outcome)}`).join('\n');
}

function sectionTable({ rows }: Section, outcome?: Outcome): string {
  const columns = ['Rule', 'Request', 'Answer', ...(outcome ? ['Seen'] : [])];
  const lines = rows.map((row) => [row.rule, request(row), answers(row), ...(outcome ? [outcome(row)] : [])]);
  return [columns, columns.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

function request({ given = {}, ask }: Row): string {
  const before: { made: string; names: string[] }[] = [];
  for (const [name, one] of Object.entries(given)) {
    const last = before.at(-1);
    if (last?.made === step(one)) last.names.push(name);
    else before.push({ made: step(one), names: [name] });
  }
  const made = before.map((each) => `${each.made} → ${some(each.names, 3, String)}`);
  return [...made, step(ask)].join('<br>');
}

function answers({ answer: first, later = [] }: Row): string {
  return [answer(first), ...later.map(([asked, seen]) => `then ${step(asked)} → ${answer(seen)}`)].join('<br>');
}

function step({ method, path, body, headers = {}, as = 'admin' }: Step): string {
  // A key in the request says who asks.
  const who = as === 'admin' || 'authorization' in headers ? '' : `${as}: `;
  const extra = Object.entries(headers).map(([name, value]) => ` ${name}: ${short(value)}`);
  return `${who}${code(`${method} ${path}${extra.join('')}${body === undefined ? '' : ` ${show(body)}`}`)}`;
}

function answer({ status, body, headers = {} }: Answer): string {
  const shown = Object.entries(headers).map(
    ([name, value]) => ` ${name}: ${typeof value === 'string' ? short(value) : show(value)}`,
  );
  return code(`${status}${shown.join('')}${body === undefined ? '' : ` ${error(body) ?? show(body)}`}`);
}

/** An error's code and what it names; the rest of its body is the same everywhere. */
function error(body: unknown): string | undefined {
  if (body === null || typeof body !== 'object' || !('error_code' in body) || !('details' in body)) return undefined;
  const details = show(body.details);
  return `${body.error_code}${details === '{}' ? '' : ` ${details}`}`;
}

/** Not quite JSON: long texts are cut, patterns and the absence of a member are shown as such. */
function show(value: unknown): string {
  if (value === TIMESTAMP) return '<RFC 3339>';
  if (value instanceof RegExp) return pattern(value);
  if (value === undefined) return '<absent>';
  if (typeof value === 'string') return JSON.stringify(short(value));
  if (Array.isArray(value)) return list(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const member = ([name, one]: [string, unknown]) => `${JSON.stringify(short(name))}: ${show(one)}`;
  return `{${some(Object.entries(value), MOST_MEMBERS, member)}}`;
}

const list = (members: readonly unknown[]) => `[${some(members, 3, show)}]`;

/** More than any of our resources has. */
const MOST_MEMBERS = 18;

/** All of them, or the first three of too many. */
function some<T>(members: readonly T[], most: number, text: (member: T) => string): string {
  if (members.length <= most) return members.map(text).join(', ');
  return `${members.slice(0, 3).map(text).join(', ')}, … ${members.length} in all`;
}

const LONGEST = 60;

function short(text: string): string {
  const plain = text.replaceAll(/[^\x20-\x7e\u00a0-\uffff]/g, (odd) => JSON.stringify(odd).slice(1, -1));
  return plain.length <= LONGEST ? plain : `${plain.slice(0, 20)}… (${Buffer.byteLength(text)} bytes)`;
}

function pattern(regex: RegExp): string {
  const prefix = /^\^(\w+)_\[0-7\]/.exec(regex.source)?.[1];
  return prefix === undefined ? String(regex) : `<${prefix}_…>`;
}

/** As code in a cell of a table, whatever it has in it. */
function code(text: string): string {
  const fence = text.includes('`') ? '``' : '`';
  return `${fence}${text.replaceAll('|', '\\|')}${fence}`;
}
