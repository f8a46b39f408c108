import { expect, test } from 'vitest';
import { invalidRequest, rateLimited, unauthenticated } from '../../../src/api/errors/errors.ts';

test.each([
  ['one', { '/cidr': 'must be a CIDR block' }, '/cidr: must be a CIDR block'],
  ['two', { '/cidr': 'is required', '?limit': 'is too large' }, '/cidr: is required (and 1 more, see details)'],
  ['three', { a: 'x', b: 'y', c: 'z' }, 'a: x (and 2 more, see details)'],
])('the message for %s bad field names the first, and says how many more there are', (_, problems, message) => {
  expect(invalidRequest(problems)).toMatchObject({ code: 'INVALID_REQUEST', message, details: problems });
});

test('an error may bring headers along', () => {
  expect(rateLimited(7)).toMatchObject({ code: 'RATE_LIMITED', headers: { 'retry-after': '7' } });
  expect(unauthenticated('no')).toMatchObject({ headers: { 'www-authenticate': 'Bearer' } });
});
