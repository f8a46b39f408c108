import { describe, expect, test } from 'vitest';
import { headers, MAX_HEADER_BYTES, MAX_HEADERS } from '../../../src/resources/formats/response-headers.ts';

/** Returns the parsed headers, or the messages by path. */
function read(given: unknown): unknown {
  const { success, data, error } = headers.safeParse(given);
  return success ? data : Object.fromEntries(error.issues.map(({ path, message }) => [path.join('/'), message]));
}

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, '']));
const long = (bytes: number) => ({ a: 'x'.repeat(bytes - 1) });

describe('the headers of a response', () => {
  test.each([
    ['none', {}, {}],
    ['names in lower case', { 'X-A': 'B', etag: '"1"' }, { 'x-a': 'B', etag: '"1"' }],
    ['an empty value, and one with space inside', { a: '', b: 'x \t y' }, { a: '', b: 'x \t y' }],
    ['every character of a name', { "!#$%&'*+.^_`|~-9z": 'x' }, { "!#$%&'*+.^_`|~-9z": 'x' }],
    ['the maximum number', many(MAX_HEADERS), many(MAX_HEADERS)],
    ['the maximum number of bytes', long(MAX_HEADER_BYTES), long(MAX_HEADER_BYTES)],
  ])('are accepted: %s', (_, given, expected) => {
    expect(read(given)).toEqual(expected);
  });

  const NAME = "is not a header name (letters, digits and !#$%&'*+.^_`|~-)";
  const VALUE = 'must be printable ASCII without line breaks or surrounding white space';
  const RESERVED = 'is reserved for the connection or the framing of the message';
  test.each([
    ['no name', { '': 'x' }, { '': NAME }],
    ['a name with a space', { 'a b': 'x' }, { 'a b': NAME }],
    ['a name beyond ASCII', { ä: 'x' }, { ä: NAME }],
    [
      'the name of a prototype',
      JSON.parse('{"__Proto__":"x"}'),
      { __Proto__: expect.stringContaining('JSON parsers') },
    ],
    ['a reserved name', { 'Content-Length': '0' }, { 'Content-Length': RESERVED }],
    ['another reserved name', { te: '' }, { te: RESERVED }],
    ['a value with a line break', { a: 'b\r\nc: d' }, { a: VALUE }],
    ['a value with space before it', { a: ' b' }, { a: VALUE }],
    ['a value with space after it', { a: 'b\t' }, { a: VALUE }],
    ['a value beyond ASCII', { a: 'ä' }, { a: VALUE }],
    [
      'a name twice',
      { 'X-A': 'b', 'x-a': 'c', 'X-a': 'd' },
      { 'x-a': 'is the same header as "X-A"', 'X-a': 'is the same header as "X-A"' },
    ],
    ['a name twice, the first one with a bad value', { 'X-A': '\n', 'x-a': 'c' }, { 'X-A': VALUE }],
    ['too many', many(MAX_HEADERS + 1), { '': 'must have at most 64 headers, but has 65' }],
    ['too many bytes', long(MAX_HEADER_BYTES + 1), { '': 'must have at most 8192 bytes in all, but has 8193' }],
    ['several', { 'a b': 'x', te: '' }, { 'a b': NAME, te: RESERVED }],
  ])('are refused: %s', (_, given, expected) => {
    expect(read(given)).toEqual(expected);
  });
});
