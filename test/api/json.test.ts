import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson, MAX_JSON_DEPTH, parseJson } from '../../src/api/json.ts';

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
        expect(parse(spell(value, escaped))).toEqual({ value: JSON.parse(JSON.stringify(value)) });
      }),
      { numRuns: 500 },
    );
  });

  test('refuses a second key of the same name, wherever and however spelled', () => {
    fc.assert(
      fc.property(fc.string(), fc.boolean(), fc.boolean(), (key, first, second) => {
        fc.pre(key !== '__proto__');
        const body = `[{"other":{${spell(key, first)}:[{}],${spell(key, second)}:2}}]`;
        expect(parse(body)).toEqual({ problem: expect.stringContaining('twice') });
      }),
    );
  });

  test('takes the same key in different objects, and a string that looks like one', () => {
    for (const text of [
      '{"a":{"a":1},"b":{"a":2}}',
      '[{"a":1},{"a":2}]',
      '{"a":"\\"b\\":1,\\"b\\":2"}',
      '{"a":["a","a"]}',
    ]) {
      expect(parse(text)).toEqual({ value: JSON.parse(text) });
    }
  });

  test('goes as deep as it says, and no deeper', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(parse(nested(MAX_JSON_DEPTH))).toHaveProperty('value');
    expect(parse(nested(MAX_JSON_DEPTH + 1))).toHaveProperty('problem');
    expect(parse('['.repeat(1_000_000))).toHaveProperty('problem');
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

describe('canonicalJson', () => {
  test('is the same for equal values, in whatever order their members came', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const turned = Object.fromEntries(Object.entries(value).reverse());
        expect(canonicalJson(turned)).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
