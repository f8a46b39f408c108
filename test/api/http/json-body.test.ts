import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_JSON_DEPTH, parseJson } from '../../../src/api/http/json-body.ts';

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

  test('refuses a second key of the same name, wherever and however spelled', () => {
    fc.assert(
      fc.property(fc.string(), fc.boolean(), fc.boolean(), (key, first, second) => {
        fc.pre(key !== '__proto__');
        const body = `[{"other":{${spell(key, first)}:[{}],${spell(key, second)}:2}}]`;
        expect(parse(body)).toMatchObject({ reason: expect.stringContaining('twice') });
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
      expect(parse(text)).toMatchObject({ value: JSON.parse(text) });
    }
  });

  test('goes as deep as it says, and no deeper', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(parse(nested(MAX_JSON_DEPTH))).toHaveProperty('value');
    expect(parse(nested(MAX_JSON_DEPTH + 1))).toHaveProperty('reason');
    expect(parse('['.repeat(1_000_000))).toHaveProperty('reason');
  });

  test('reads strings of many megabytes, however many escapes they have', () => {
    const size = 32 * 2 ** 20;
    for (const text of [
      `"${'x'.repeat(size)}"`,
      `"${'é'.repeat(size / 2)}"`,
      `"${'\\\\'.repeat(size / 2)}"`,
      `"${'\\"'.repeat(size / 2)}"`,
      `{"metadata":"${'x'.repeat(size / 2)}\\n${'x'.repeat(size / 2)}"}`,
      `{"${'x'.repeat(size)}":1,"${'x'.repeat(size)}2":2}`,
    ]) {
      // Not toEqual, whose report of a failure would have all of it.
      const parsed = parse(text);
      const isSame = 'value' in parsed && JSON.stringify(parsed.value) === JSON.stringify(JSON.parse(text));
      expect(isSame, text.slice(0, 20)).toBe(true);
    }
    expect(parse(`"${'x'.repeat(size)}`)).toMatchObject({ reason: expect.stringContaining('not valid JSON') });
    expect(parse(`"${'\\"'.repeat(size / 2)}`)).toMatchObject({ reason: expect.stringContaining('not valid JSON') });
  });

  test('reads very many keys, in a time that grows with the text alone', () => {
    const keys = Array.from({ length: 300_000 }, (_, n) => `"${n % 2 ? '' : '\\u006b'}k${n}":"v"`);
    expect(parse(`{${keys.join()}}`)).toHaveProperty('value');
    expect(parse(`{${keys.join()},"k7":1}`)).toMatchObject({ reason: 'has the key "k7" twice in one object' });
    // The one backslash is far from every string but the last.
    expect(parse(`[${'"v",'.repeat(1_000_000)}"\\n"]`)).toHaveProperty('value');
    expect(parse(`[${'"v",'.repeat(1_000_000)}"v"]`)).toHaveProperty('value');
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
