import { expect, test } from 'vitest';
import { ApiError } from '../../../src/client/errors.ts';
import { earlierCreate } from '../../../src/operator/managed/creation.ts';
import { ERROR_STATUS, type ErrorCode } from '../../../src/resources/definition/errors.ts';

const apiError = (error_code: ErrorCode, details: Record<string, string>) =>
  new ApiError({ error_code, status_code: ERROR_STATUS[error_code], msg: 'no', details });

test.each([
  ['its key was closed', apiError('CONFLICT', { idempotency_key: 'closed' }), 'refused'],
  ['its scope was closed', apiError('CONFLICT', { idempotency_scope: 'closed' }), 'refused'],
  ['others came before', apiError('CONFLICT', { idempotency_scope: 'out_of_sequence', next_sequence: '3' }), 'refused'],
  ['it made another body', apiError('IDEMPOTENCY_KEY_REUSED', { resource_id: 'x' }), { id: 'x' }],
  ['nothing, when what it made is not named', apiError('IDEMPOTENCY_KEY_REUSED', {}), undefined],
  ['nothing, of another conflict', apiError('CONFLICT', { '/name': 'taken' }), undefined],
  ['nothing, of a refusal', apiError('INVALID_REQUEST', { resource_id: 'x' }), undefined],
  ['nothing, of any other error', new Error('no'), undefined],
])('a rejected create reveals about an earlier one: %s', (_, error, expected) => {
  expect(earlierCreate(error)).toEqual(expected);
});
