import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../src/api/http/json-body.ts';

const parse = (text: string) => parseJson(Buffer.from(text));

/** Like JSON.stringify, with each string spelled in one of the ways that JSON allows. */
function spell(value: unknown, escaped: boolean): string {
  if (typeof value === 'string') {
    const plain = JSON.stringify(value);
    return escaped
      ? `"${[...Array(value.length).keys()].map((at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
      : plain;
  }
  if (Array.isArray(value)) return `[ ${value.map((member) => spell(member, escaped)).join(' ,\n')} ]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, member]) => `${spell(key, escaped)} : ${spell(member, escaped)}`)
    .join(' , ')} }`;
}

describe('parseJson', () => {
  test('reads what JSON.parse reads, however it is spelled', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, escaped) => {
        fc.pre(!JSON.stringify(value).includes('__proto__'));
        expect(parse(spell(value, escaped))).toMatchObject({ value: JSON.parse(JSON.stringify(value)) });
      }),
      { numRuns: 500 },
    );
  });

  test('refuses a duplicate key, wherever it is and however it is spelled', () => {
    fc.assert(
      fc.property(fc.string(), fc.boolean(), fc.boolean(), (key, first, second) => {
        fc.pre(key !== '__proto__');
        const body = `[{"other":{${spell(key, first)}:[{}],${spell(key, second)}:2}}]`;
        expect(parse(body)).toMatchObject({ reason: expect.stringContaining('twice') });
      }),
    );
  });

  test('accepts 32 levels of nesting and no more', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(parse(nested(32))).toHaveProperty('value');
    expect(parse(nested(33))).toEqual({ reason: 'is nested more than 32 levels deep' });
    expect(parse('['.repeat(1_000_000))).toHaveProperty('reason');
  });

  test.each(['{"a":1,"a":2}', '{"a":1,"b":{"c":[{"a":1}]},"a":2}', '{"\\\\":1,"\\u005c":2}'])('refuses %s', (text) => {
    expect(parse(text)).toMatchObject({ fixed: 'has a key twice in one object' });
  });

  test('quotes the start of a duplicate key in its reason, but not in the reason for the log', () => {
    const [begin, end] = ['x'.repeat(64), 'y'];
    expect(parse(`{"${begin}${end}":1,"${begin}${end}":2}`)).toEqual({
      reason: `has the key "${begin}" twice in one object`,
      fixed: 'has a key twice in one object',
    });
  });

  test.each(['{"__proto__":1}', '{"\\u005f_proto__":1}', '[{"a":{"b":1,"__proto__":{}}}]'])('refuses %s', (text) => {
    expect(parse(text)).toEqual({ reason: 'must not have a key "__proto__"' });
  });

  test('refuses a byte order mark in words, since nobody sees it', () => {
    expect(parse('\ufeff{}')).toEqual({ reason: 'begins with a byte order mark (U+FEFF), which JSON must not have' });
  });

  test('refuses invalid UTF-8, and invalid JSON with a reason that is safe to log', () => {
    expect(parseJson(Buffer.from([0x22, 0xff, 0x22]))).toEqual({ reason: 'is not valid UTF-8' });
    for (const text of ['{', '"a', '{"a":1,}', '"\\', '"\\"', '{"\\x":1}']) {
      expect(parse(text)).toEqual({
        reason: expect.stringMatching(/^is not valid JSON: (?!SyntaxError)/),
        fixed: 'is not valid JSON',
      });
    }
  });

  test('reads an empty body as undefined', () => {
    expect(parse('')).toEqual({ value: undefined, bytes: 0 });
  });

  test.each([
    ['"[[,,{{"', 0],
    ['5', 0],
    ['[]', 1],
    ['{}', 1],
    ['[1,2,3]', 3],
    ['{"a,b":{},"c":[1]}', 4],
  ])('counts %s as %i values besides its strings', (text, values) => {
    expect(parse(text)).toEqual({ value: JSON.parse(text), bytes: 32 * values });
  });

  test('accepts values and keys up to their limits, and not one more', () => {
    const values = (count: number) => JSON.stringify(Array(count).fill(0));
    expect(parse(values(20_000))).toMatchObject({ bytes: 32 * 20_000 });
    expect(parse(values(20_001))).toEqual({ reason: 'has more than 20000 values' });
    const keys = (count: number) => JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [n, n])));
    expect(parse(keys(1_000))).toHaveProperty('value');
    expect(parse(keys(1_001))).toEqual({ reason: 'has an object with more than 1000 keys' });
  });

  test('never throws', () => {
    const alphabet = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', 'a', '1', ' ', '\\u00');
    fc.assert(
      fc.property(
        fc.array(alphabet).map((parts) => parts.join('')),
        (text) => void parse(text),
      ),
      { numRuns: 2000 },
    );
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void parseJson(Buffer.from(bytes))));
  });
});
