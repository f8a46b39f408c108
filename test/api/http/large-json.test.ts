/** JSON of many megabytes. */
import { expect, test } from 'vitest';
import { parseJson } from '../../../src/api/http/json-body.ts';

const parse = (text: string) => parseJson(Buffer.from(text));

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

test('reads many keys, and no more values than any body can have', () => {
  const keys = Array.from({ length: 1_000 }, (_, n) => `"${n % 2 ? '' : '\\u006b'}k${n}":"v"`);
  expect(parse(`{${keys.join()}}`)).toHaveProperty('value');
  expect(parse(`{${keys.join()},"k7":1}`)).toMatchObject({ reason: 'has the key "k7" twice in one object' });
  const reason = 'has more than 20000 values';
  expect(parse(`{${keys.join()},"more":1}`)).toEqual({ reason: 'has an object with more than 1000 keys' });
  for (const many of ['"v",', '[],', '{"a":1},']) expect(parse(`[${many.repeat(500_000)}1]`)).toEqual({ reason });
});

test('finds the end of strings in a time that grows with the text alone', () => {
  const long = `"${'v'.repeat(1_000)}",`;
  // The one backslash is far from every string but the last.
  expect(parse(`[${long.repeat(15_000)}"\\n"]`)).toHaveProperty('value');
  expect(parse(`[${long.repeat(15_000)}"v"]`)).toHaveProperty('value');
});
