/** The response to each failure, and what is logged. */
import Fastify, { type FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ApiError,
  internalError,
  lateRequest,
  overloaded,
  RequestAborted,
  rateLimited,
  unavailable,
} from '../../../src/api/errors/errors.ts';
import type { LogRefusal } from '../../../src/api/guard/refusal-log.ts';
import { answerError, toApiError } from '../../../src/api/http/error-handler.ts';

const failure = (members: object, message = 'secret') => Object.assign(new Error(message), members);

test.each<[string, unknown, object]>([
  ['an error of the catalogue', new ApiError('NOT_FOUND', 'a'), { code: 'NOT_FOUND', message: 'a' }],
  ['a wrong media type', failure({ code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' }), { code: 'UNSUPPORTED_MEDIA_TYPE' }],
  ['a bad escape', failure({ code: 'FST_ERR_BAD_URL' }), { details: { path: 'has a malformed percent escape' } }],
  ['an id that is too long', failure({ code: 'FST_ERR_MAX_PARAM_LENGTH' }), { code: 'NOT_FOUND' }],
  [
    'another error of the request',
    failure({ code: 'FST_ERR_X', statusCode: 499 }, 'a'),
    { code: 'INVALID_REQUEST', details: { request: 'a' } },
  ],
  ['a fault of the framework', failure({ code: 'FST_ERR_X', statusCode: 500 }), { code: 'INTERNAL_ERROR' }],
  ['a fault of the framework without a status', failure({ code: 'FST_ERR_X' }), { code: 'INTERNAL_ERROR' }],
  ['a foreign fault with a status', failure({ code: 'OTHER', statusCode: 400 }), { code: 'INTERNAL_ERROR' }],
  ['a fault with a numeric code', failure({ code: 5 }), { code: 'INTERNAL_ERROR' }],
  ['a fault without a code', failure({}), { code: 'INTERNAL_ERROR' }],
  ['a value that is not an error', 'secret', { code: 'INTERNAL_ERROR' }],
  ['an unreachable database', failure({ code: 'ECONNREFUSED' }), { code: 'UNAVAILABLE', message: /not available/ }],
  [
    'the deletion of a referenced resource',
    failure({ code: '23503', table: 'edges', constraint: 'c', detail: 'is still referenced from table "edges"' }),
    { code: 'RESOURCE_IN_USE', details: { referrers: 'edges' } },
  ],
  [
    'a reference to a missing resource',
    failure({ code: '23503', constraint: 'c', detail: 'is not present' }),
    { code: 'CONFLICT', details: { rule: 'c' } },
  ],
  ['a duplicate value', failure({ code: '23505', constraint: 'c' }), { code: 'CONFLICT', details: { rule: 'c' } }],
])('%s becomes the matching catalogue error', (_, error, { message, ...expected }: { message?: string | RegExp }) => {
  const answer = toApiError(error);
  expect(answer).toMatchObject(expected);
  if (message !== undefined) expect(answer.message).toMatch(message);
  expect(JSON.stringify([answer.message, answer.details])).not.toContain('secret');
});

/** The response to a request that fails with this error, and what is logged. */
async function answered(error: unknown) {
  const levels: number[] = [];
  const write = (line: string) => void levels.push(JSON.parse(line).level);
  const loggerInstance: FastifyBaseLogger = pino({ level: 'warn' }, { write });
  const app = Fastify({ loggerInstance });
  onTestFinished(async () => void (await app.close()));
  const noted: [string, string][] = [];
  app.decorate('noteRefusal', (reason: string) => void noted.push(['for load', reason]));
  app.decorate<LogRefusal>('logRefusal', (reason, failure) => {
    noted.push([failure ? `${failure.level} of ${failure.condition}` : 'refusal', reason]);
  });
  app.decorateRequest('reasons', null);
  app.setErrorHandler(answerError);
  const reasons: unknown[] = [];
  app.addHook('onResponse', async (request) => void reasons.push(request.reasons));
  app.get('/', async () => {
    throw error;
  });
  return { ...(await app.inject('/')), noted, reasons, levels };
}

describe('the response', () => {
  test('has the error, the headers of the error, and those of every response', async () => {
    const { statusCode, headers, body, noted, reasons } = await answered(rateLimited(7, 'slow down'));
    expect(statusCode).toBe(429);
    expect(headers).toMatchObject({ 'retry-after': '7', 'service-version': '2', 'x-request-id': 'req-1' });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(JSON.parse(body)).toMatchObject({ error_code: 'RATE_LIMITED', details: { request_id: 'req-1' } });
    expect(noted).toEqual([['refusal', 'slow down']]);
    expect(reasons).toEqual([null]);
  });

  test('to an invalid request passes the reasons to the access log', async () => {
    const error = new ApiError('INVALID_REQUEST', 'a', { '/a': 'b' });
    expect(await answered(error)).toMatchObject({ statusCode: 400, noted: [], reasons: [error] });
  });

  test.each<[unknown, [string, string][]]>([
    [overloaded('full'), [['for load', 'full']]],
    [lateRequest(), [['refusal', lateRequest().message]]],
    [unavailable('away'), [['warn of undefined', 'away']]],
    [failure({ code: 'ECONNREFUSED' }), [['error of ECONNREFUSED', expect.stringContaining('not available')]]],
    [internalError(), []],
    [new ApiError('NOT_FOUND', 'a'), []],
  ])('to %s is counted if it may occur thousands of times', async (error, expected) => {
    expect((await answered(error)).noted).toEqual(expected);
  });

  test.each<[string, unknown, number[]]>([
    ['an unexpected fault', new Error('x'), [50]],
    ['an expected fault', internalError(), [40]],
    ['an error of the caller', new ApiError('NOT_FOUND', 'a'), []],
    ['a refusal for load', overloaded('full'), []],
    ['a refusal while the database is down', unavailable('away'), []],
  ])('to %s is logged at the right level, if at all', async (_, error, expected) => {
    expect((await answered(error)).levels).toEqual(expected);
  });

  test('to a client that has gone is empty', async () => {
    expect(await answered(new RequestAborted())).toMatchObject({
      statusCode: 499,
      body: '',
      noted: [],
      reasons: [null],
    });
  });
});
