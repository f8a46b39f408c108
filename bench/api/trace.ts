/** Turns a recorded operation into a script: traces each value to its source in other requests. */
import { isDeepStrictEqual } from 'node:util';
import type { Step } from './recording.ts';
import type { Key, Script, Source } from './script.ts';

export interface Observed {
  method: Script['method'];
  url: string;
  params: Readonly<Record<string, string>>;
  body: unknown;
  callerHash: string;
  steps: readonly Step[];
  status: number;
  answer: unknown;
}

const ID = /[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const SERIAL = /^\d{15,19}$/;
const HASH = /^\\x[0-9a-f]{64}$/;
/** From here on, an array of an answer is rows of a statement. */
const MANY = 10;

interface Place {
  value: unknown;
  source: Source;
}

export function scriptOf({ method, url, params, body, callerHash, steps, status, answer }: Observed): Script {
  /** The sources seen so far that a value can be traced to. */
  const places: Place[] = Object.entries(params).map(([name, value]) => ({ value, source: { from: 'path', name } }));
  places.push(...within(body, (at) => ({ from: 'body', at })));
  const ids: string[] = [];
  let statements = 0;

  function sourceOf(value: unknown): Source {
    if (Buffer.isBuffer(value)) throw new Error('bytes of an unknown kind');
    if (value === null || typeof value !== 'object') return typeof value === 'string' ? ofText(value) : constant(value);
    const known = isEmpty(value) ? undefined : traced(value);
    if (known) return known;
    if (Array.isArray(value)) return { from: 'array', items: value.map(sourceOf) };
    return { from: 'object', members: Object.entries(value).map(([name, member]) => [name, sourceOf(member)]) };
  }
  function ofText(value: string): Source {
    const known = value === '' ? undefined : traced(value);
    if (known) return known;
    if (TIME.test(value)) return { from: 'now' };
    if (HASH.test(value)) return { from: value === callerHash ? 'caller' : 'token' };
    if (SERIAL.test(value)) return { from: 'serial' };
    const json = value.startsWith('{') || value.startsWith('[') ? parsed(value) : undefined;
    if (json !== undefined) return { from: 'json', value: sourceOf(json) };
    const found = [...value.matchAll(ID)];
    if (found.length === 0) return constant(value);
    let end = 0;
    const parts = found.flatMap(({ 0: id, index }) => {
      const between = value.slice(end, index);
      end = index + id.length;
      return [...(between === '' ? [] : [constant(between)]), ofId(id)];
    });
    const rest = value.slice(end);
    const [only] = parts;
    return parts.length === 1 && rest === '' && only
      ? only
      : { from: 'text', parts: rest === '' ? parts : [...parts, constant(rest)] };
  }
  function ofId(id: string): Source {
    const known = traced(id);
    if (known) return known;
    if (!ids.includes(id)) ids.push(id);
    return { from: 'id', prefix: id.slice(0, id.lastIndexOf('_')), index: ids.indexOf(id) };
  }
  function traced(value: unknown): Source | undefined {
    return places.find((place) => isDeepStrictEqual(place.value, value))?.source;
  }

  const script: Script = {
    method,
    url,
    steps: steps.map((step) => {
      if (step.kind !== 'statement') return { kind: step.kind };
      const { statement, rows } = step;
      const { name, text } = statement;
      const values = statement.values.map(sourceOf);
      const index = statements++;
      for (const [row, record] of rows.entries()) {
        places.push(...within(record, (at) => ({ from: 'row', statement: index, row, at })));
      }
      return { kind: 'statement', name, text, values };
    }),
    status,
    answer: ofAnswer(answer),
  };
  return script;

  function ofAnswer(value: unknown): Source {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return sourceOf(value);
    return {
      from: 'object',
      members: Object.entries(value).map(([name, member]) => [
        name,
        Array.isArray(member) && member.length >= MANY
          ? { from: 'rows', statement: statements - 1, count: member.length, item: sourceOf(member[0]) }
          : sourceOf(member),
      ]),
    };
  }
}

const constant = (value: unknown): Source => ({ from: 'constant', value });

const isEmpty = (value: object) => Object.keys(value).length === 0;

/** Every part of a value that another value could be a copy of. */
function within(value: unknown, sourceAt: (at: readonly Key[]) => Source, at: readonly Key[] = []): Place[] {
  if (typeof value === 'string') return value === '' ? [] : [{ value, source: sourceAt(at) }];
  if (value === null || typeof value !== 'object' || isEmpty(value)) return [];
  const members = Array.isArray(value) ? value.entries() : Object.entries(value);
  const own = at.length === 0 ? [] : [{ value, source: sourceAt(at) }];
  return [...own, ...[...members].flatMap(([key, member]) => within(member, sourceAt, [...at, key]))];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
