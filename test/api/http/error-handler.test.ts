/** What each failure is answered with, and said of in the log. */
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
  ['another media type', failure({ code: 'FST_ERR_CTP_INVALID_MEDIA_TYPE' }), { code: 'UNSUPPORTED_MEDIA_TYPE' }],
  ['a bad escape', failure({ code: 'FST_ERR_BAD_URL' }), { details: { path: 'has a malformed percent escape' } }],
  ['too long an id', failure({ code: 'FST_ERR_MAX_PARAM_LENGTH' }), { code: 'NOT_FOUND' }],
  [
    'another fault of the request',
    failure({ code: 'FST_ERR_X', statusCode: 499 }, 'a'),
    { code: 'INVALID_REQUEST', details: { request: 'a' } },
  ],
  ['a fault of the framework', failure({ code: 'FST_ERR_X', statusCode: 500 }), { code: 'INTERNAL_ERROR' }],
  ['a fault of the framework without a status', failure({ code: 'FST_ERR_X' }), { code: 'INTERNAL_ERROR' }],
  ['a fault with the status of another', failure({ code: 'OTHER', statusCode: 400 }), { code: 'INTERNAL_ERROR' }],
  ['a fault with a number for a code', failure({ code: 5 }), { code: 'INTERNAL_ERROR' }],
  ['a fault without a code', failure({}), { code: 'INTERNAL_ERROR' }],
  ['what is no error', 'secret', { code: 'INTERNAL_ERROR' }],
  ['a database that is away', failure({ code: 'ECONNREFUSED' }), { code: 'UNAVAILABLE', message: /not available/ }],
  [
    'a reference to what is to be deleted',
    failure({ code: '23503', table: 'edges', constraint: 'c', detail: 'is still referenced from table "edges"' }),
    { code: 'RESOURCE_IN_USE', details: { referrers: 'edges' } },
  ],
  [
    'a reference to what is not there',
    failure({ code: '23503', constraint: 'c', detail: 'is not present' }),
    { code: 'CONFLICT', details: { rule: 'c' } },
  ],
  ['something twice', failure({ code: '23505', constraint: 'c' }), { code: 'CONFLICT', details: { rule: 'c' } }],
])('%s is answered as what it is', (_, error, { message, ...expected }: { message?: string | RegExp }) => {
  const answer = toApiError(error);
  expect(answer).toMatchObject(expected);
  if (message !== undefined) expect(answer.message).toMatch(message);
  expect(JSON.stringify([answer.message, answer.details])).not.toContain('secret');
});

/** The answer to a request that fails so, and what is noted of it. */
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

describe('an answer', () => {
  test('has the error, and the headers of the error and of every answer', async () => {
    const { statusCode, headers, body, noted, reasons } = await answered(rateLimited(7, 'slow down'));
    expect(statusCode).toBe(429);
    expect(headers).toMatchObject({ 'retry-after': '7', 'service-version': '2', 'x-request-id': 'req-1' });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(JSON.parse(body)).toMatchObject({ error_code: 'RATE_LIMITED', details: { request_id: 'req-1' } });
    expect(noted).toEqual([['refusal', 'slow down']]);
    expect(reasons).toEqual([null]);
  });

  test('to what is invalid leaves its reasons to the log', async () => {
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
  ])('to %s is noted where it may come by the thousand', async (error, expected) => {
    expect((await answered(error)).noted).toEqual(expected);
  });

  test.each<[string, unknown, number[]]>([
    ['a fault that nobody has thought of', new Error('x'), [50]],
    ['one that is known', internalError(), [40]],
    ['a fault of the caller', new ApiError('NOT_FOUND', 'a'), []],
    ['what may come by the thousand', overloaded('full'), []],
    ['what does so while the database is away', unavailable('away'), []],
  ])('to %s has its place in the log', async (_, error, expected) => {
    expect((await answered(error)).levels).toEqual(expected);
  });

  test('to nobody is short', async () => {
    expect(await answered(new RequestAborted())).toMatchObject({
      statusCode: 499,
      body: '',
      noted: [],
      reasons: [null],
    });
  });
});
