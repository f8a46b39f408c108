import { expect, test } from 'vitest';
import { AcmeError } from '../../../src/acme/errors.ts';
import { JobFailed, reasonOf } from '../../../src/api/issuance/reasons.ts';

const DIRECTORY = 'https://ca.example.com/directory';
const error = (type: string | null, detail: string, subproblems: AcmeError['subproblems'] = []) =>
  new AcmeError({ type, detail, subproblems, status: 400, retryAfterMs: null });

test.each([
  ['caa', 'DNS_ERROR'],
  ['connection', 'DNS_ERROR'],
  ['dns', 'DNS_ERROR'],
  ['rejectedIdentifier', 'DNS_ERROR'],
  ['unauthorized', 'DNS_ERROR'],
  ['rateLimited', 'INTERNAL_ERROR'],
  ['serverInternal', 'INTERNAL_ERROR'],
  ['accountDoesNotExist', 'INTERNAL_ERROR'],
  [null, 'INTERNAL_ERROR'],
])('%s is a %s', (type, code) => {
  expect(reasonOf(error(type, 'x'), DIRECTORY, 'validation').code).toBe(code);
});

test('a compound error about the domain is the domain owner’s', () => {
  const parts = [{ type: 'caa', detail: 'forbids it', name: 'a.example' }];
  expect(reasonOf(error('compound', 'two', parts), DIRECTORY, 'request')).toEqual({
    code: 'DNS_ERROR',
    message: 'compound: two; a.example: forbids it',
  });
});

test('addresses of the authority are left out, since they identify the account; others help', () => {
  const detail = 'account https://ca.example.com/acct/12 is over a limit: see https://letsencrypt.org/docs/rate-limits';
  expect(reasonOf(error('rateLimited', detail), DIRECTORY, 'request').message).toBe(
    'rateLimited: account … is over a limit: see https://letsencrypt.org/docs/rate-limits',
  );
});

test.each(['x'.repeat(3_000), 'ü'.repeat(3_000), '👍'.repeat(3_000)])('a long message is cut to 1 KiB', (long) => {
  const { message } = new JobFailed('INTERNAL_ERROR', long);
  expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1_024);
  expect(Buffer.byteLength(message)).toBeGreaterThan(1_015);
  expect(message).not.toContain('\uFFFD');
  expect(message.endsWith('…')).toBe(true);
});
