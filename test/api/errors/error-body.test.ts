import { expect, test } from 'vitest';
import { errorBody, MAX_ERROR_BYTES } from '../../../src/api/errors/error-body.ts';
import { ApiError, invalidRequest } from '../../../src/api/errors/errors.ts';

test('the body of an error has its details and the request id, as text that every parser accepts', () => {
  const error = new ApiError('NOT_FOUND', 'there is no \ud800', { 'a\udc00': 'b\ud800' });
  expect(errorBody(error, 'r1')).toEqual({
    error_code: 'NOT_FOUND',
    status_code: 404,
    msg: 'there is no \ufffd',
    details: { 'a\ufffd': 'b\ufffd', request_id: 'r1' },
  });
});

const many = (count: number, entry: (at: number) => [string, string]) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => entry(at)));

test.each<[string, Record<string, string>]>([
  ['a long name', { ['x'.repeat(1_000_000)]: 'unknown field' }],
  ['a long name of characters that JSON escapes', { ['\u0001'.repeat(170_000)]: 'unknown field' }],
  ['a long reason', { '/a': 'é'.repeat(500_000) }],
  ['a long reason of characters outside of the plane of 16 bits', { '/a': '😀'.repeat(250_000) }],
  ['many entries', many(1000, (at) => [`/a/${at}`, 'x'.repeat(1000)])],
  ['many long entries', many(50, (at) => [`/${at}${'\u0001'.repeat(1000)}`, '\u0001'.repeat(3000)])],
])('the body of an error with %s stays small, and is well-formed', (_, details) => {
  const text = JSON.stringify(errorBody(invalidRequest(details), 'r'.repeat(128)));
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_ERROR_BYTES);
  expect(Buffer.byteLength(text)).toBeGreaterThan(500);
  expect(text.isWellFormed()).toBe(true);
  expect(text).toContain('…');
  expect(JSON.parse(text).details.request_id).toBe('r'.repeat(128));
});

test('details that are left out are counted', () => {
  const { details } = errorBody(invalidRequest(many(50, (at) => [`/${at}`, 'x'.repeat(900)])), 'r1');
  const shown = Object.keys(details).filter((name) => name.startsWith('/')).length;
  expect(shown).toBeGreaterThan(5);
  expect(details['…']).toBe(`and ${50 - shown} more`);
});
