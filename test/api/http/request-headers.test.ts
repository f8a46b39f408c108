import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/api/errors/errors.ts';
import { parseIdempotency, requestId } from '../../../src/api/http/request-headers.ts';

type Headers = Readonly<Record<string, string>>;

const parse = (headers: Headers) => parseIdempotency({ headers });

function refusal(headers: Headers) {
  try {
    return parse(headers);
  } catch (error) {
    if (error instanceof ApiError) return error.details;
    throw error;
  }
}

const [KEY, SCOPE, SEQUENCE] = ['idempotency-key', 'idempotency-scope', 'idempotency-sequence'] as const;

describe('a create', () => {
  test.each<[string, Headers, object]>([
    ['without a key', {}, { idempotencyKey: undefined, idempotencyPlace: undefined }],
    ['with a key', { [KEY]: 'k' }, { idempotencyKey: 'k', idempotencyPlace: undefined }],
    [
      'with a place in a scope',
      { [KEY]: 'k', [SCOPE]: 's', [SEQUENCE]: '7' },
      { idempotencyKey: 'k', idempotencyPlace: { scope: 's', sequence: 7 } },
    ],
  ])('may be sent %s', (_, headers, expected) => {
    expect(parse(headers)).toEqual(expected);
  });

  test.each<[string, Headers, object]>([
    [
      'a scope without a key',
      { [SCOPE]: 's', [SEQUENCE]: '1' },
      { 'Idempotency-Key': 'is required with an idempotency scope' },
    ],
    ['a scope alone', { [SCOPE]: 's' }, { 'Idempotency-Key': 'is required with an idempotency scope' }],
    [
      'a scope without a number',
      { [KEY]: 'k', [SCOPE]: 's' },
      { 'Idempotency-Sequence': 'is required with an Idempotency-Scope' },
    ],
    [
      'a number without a scope',
      { [KEY]: 'k', [SEQUENCE]: '1' },
      { 'Idempotency-Scope': 'is required with an Idempotency-Sequence' },
    ],
    ['an empty key', { [KEY]: '' }, { 'Idempotency-Key': 'must be 1 to 255 printable ASCII characters' }],
    [
      'the number 0',
      { [KEY]: 'k', [SCOPE]: 's', [SEQUENCE]: '0' },
      { 'Idempotency-Sequence': 'must be a whole number from 1 to 999999999' },
    ],
  ])('must not have %s', (_, headers, details) => {
    expect(refusal(headers)).toEqual(details);
  });
});

test.each(['a', 'Ab9._:/+=-', 'x'.repeat(128)])('a request keeps the id %s', (id) => {
  expect(requestId(id)).toBe(id);
});

test.each([undefined, '', 'a\nb', '"a"', 'x'.repeat(129)])('a request with the id %j gets a new one', (id) => {
  expect(requestId(id)).toMatch(/^[0-9a-f-]{36}$/);
});
