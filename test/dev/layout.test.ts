import { expect, test } from 'vitest';
import { json } from '../../dev/layout.ts';

test.each([
  ['what fits is on one line', { a: [1, 2], b: {} }, '{"a": [1, 2], "b": {}}\n'],
  [
    'what does not has a member on each line',
    { first: 1, second: 'abcdefghij' },
    '{\n  "first": 1,\n  "second": "abcdefghij"\n}\n',
  ],
  [
    'the comma has to fit, too',
    ['abcdefghijklmno', 'abcdefghijklmnopq'],
    '[\n  "abcdefghijklmno",\n  "abcdefghijklmnopq"\n]\n',
  ],
  [
    'members are laid out by what is left of the line',
    { a: { b: { c: 'ab', d: 1 } } },
    '{\n  "a": {\n    "b": {\n      "c": "ab",\n      "d": 1\n    }\n  }\n}\n',
  ],
  ['what is longer than the line is not cut', ['a'.repeat(30)], `[\n  "${'a'.repeat(30)}"\n]\n`],
  ['what is undefined is left out', { a: undefined, b: null }, '{"b": null}\n'],
])('%s', (_, value, text) => {
  expect(json(value, 22)).toBe(text);
});
