/**
 * Parses JSON, and refuses what JSON.parse would accept: a duplicate key (two readers of one body may take different
 * values), `__proto__`, unbounded nesting and sizes.
 */
import { isUtf8 } from 'node:buffer';
import type { Refusal } from '../../resources/definition/errors.ts';

export const MAX_JSON_DEPTH = 32;

/**
 * Nearly twice as many values as the response with the largest rule set. Parsing 1 MiB of short values would hold up
 * all other requests for a tenth of a second.
 */
export const MAX_JSON_VALUES = 20_000;

/** More than any object may have. zod checks each member of a map before their number: 20,000 take nearly a second. */
export const MAX_JSON_KEYS = 1_000;

/** `bytes`: memory that the value takes besides its strings, up to about twenty times the size of the body. */
export type ParsedJson = { value: unknown; bytes: number } | Refusal;

/** Approximate memory of a value in an object or array. */
const BYTES_PER_VALUE = 32;

/** Parses a request body; an empty one is undefined (many clients announce JSON and send none). */
export function parseJson(bytes: Buffer): ParsedJson {
  if (bytes.length === 0) return { value: undefined, bytes: 0 };
  if (!isUtf8(bytes)) return { reason: 'is not valid UTF-8' };
  const text = bytes.toString('utf8');
  if (text.startsWith('\ufeff')) return { reason: 'begins with a byte order mark (U+FEFF), which JSON must not have' };
  // Before JSON.parse, which recurses, and would build values only to have them refused.
  const structure = structureOf(text);
  if ('reason' in structure) return structure;
  try {
    return { value: JSON.parse(text), bytes: structure.values * BYTES_PER_VALUE };
  } catch (error) {
    const fixed = 'is not valid JSON';
    return { reason: `${fixed}: ${error instanceof Error ? error.message : error}`, fixed };
  }
}

/** Shared by all objects that have no key yet: a body may have very many empty objects. */
const NO_KEYS = new Set<string>();

/** Scans the structure and leaves all else to JSON.parse. For text that is not JSON the result has no meaning. */
function structureOf(text: string): { values: number } | Refusal {
  /** Keys of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  let expectsKey = false;
  let values = 0;
  const endOfString = stringScanner(text);
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '{':
        values++;
        open.push(NO_KEYS);
        expectsKey = true;
        break;
      case '[':
        values++;
        open.push(undefined);
        break;
      case '}':
      case ']':
        open.pop();
        break;
      case ',':
        values++;
        expectsKey = open.at(-1) !== undefined;
        break;
      case '"': {
        const end = endOfString(at);
        if (end === -1) return { values };
        const keys = open.at(-1);
        if (expectsKey && keys) {
          const key = keyOf(text.slice(at, end + 1));
          if (key === '__proto__') return { reason: 'must not have a key "__proto__"' };
          if (keys.has(key)) {
            return {
              reason: `has the key "${key.slice(0, 64)}" twice in one object`,
              fixed: 'has a key twice in one object',
            };
          }
          if (keys === NO_KEYS) open[open.length - 1] = new Set([key]);
          else keys.add(key);
          if (keys.size > MAX_JSON_KEYS) return { reason: `has an object with more than ${MAX_JSON_KEYS} keys` };
        }
        expectsKey = false;
        at = end;
      }
    }
    if (values > MAX_JSON_VALUES) return { reason: `has more than ${MAX_JSON_VALUES} values` };
    if (open.length > MAX_JSON_DEPTH) return { reason: `is nested more than ${MAX_JSON_DEPTH} levels deep` };
  }
  return { values };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Returns a function that finds the end of the string that begins at `at`, or -1. Call it from left to right. A regular
 * expression that skips escapes would backtrack by character, and overflow its stack at about ten million.
 */
function stringScanner(text: string): (at: number) => number {
  /** The next backslash, so that text with few of them is searched only once. */
  let backslash = -1;
  return (at) => {
    if (backslash <= at) backslash = positionOf(text.indexOf('\\', at));
    const quote = text.indexOf('"', at + 1);
    if (quote < backslash) return quote;
    for (let end = backslash; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code === QUOTE) return end;
      if (code === BACKSLASH) end++;
    }
    return -1;
  };
}

const positionOf = (index: number) => (index === -1 ? Number.POSITIVE_INFINITY : index);

/** The key that a token spells, so that `"a"` and `"\u0061"` are the same. */
function keyOf(token: string): string {
  if (!token.includes('\\')) return token.slice(1, -1);
  try {
    return String(JSON.parse(token));
  } catch {
    return token;
  }
}
