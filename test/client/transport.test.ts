import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ApiError, ApiUnreachableError } from '../../src/client/errors.ts';
import type { ApiRequest } from '../../src/client/request.ts';
import { createTransport, type TransportOptions } from '../../src/client/transport.ts';
import { atEnd } from '../end-of-file.ts';
import { type Answer, errorOf, record } from './recorder.ts';

const OK: Answer = { status: 200, body: { a: 1 } };
const GONE: Answer = { status: 204 };
const BUSY = errorOf('UNAVAILABLE', 503);
const LIMITED = errorOf('RATE_LIMITED', 429);
const MISSING = errorOf('NOT_FOUND', 404);
const PAGE: Answer = { status: 502, headers: { 'content-type': 'text/html; charset=utf-8' }, body: 'no JSON of ours' };
const get: ApiRequest = { method: 'GET', path: '/a' };

async function transport(answers: [Answer | null, ...(Answer | null)[]], options: Partial<TransportOptions> = {}) {
  const server = await record(...answers);
  const made = createTransport({ baseUrl: server.url, apiKey: 'k', ...options });
  atEnd(() => made.destroy());
  return { server, ...made };
}

describe('an answer', () => {
  test.each<[string, ApiRequest['method'], Answer, object]>([
    ['a body', 'GET', OK, { status: 200, body: { a: 1 }, etag: undefined, replayed: false }],
    ['an ETag', 'GET', { ...OK, headers: { etag: '"1"' } }, { etag: '"1"', replayed: false }],
    [
      'a replay',
      'POST',
      { ...OK, status: 201, headers: { 'idempotency-replayed': 'true' } },
      { status: 201, replayed: true },
    ],
    ['a delete', 'DELETE', GONE, { status: 204, body: undefined }],
  ])('reaches the caller: %s', async (_, method, answer, expected) => {
    const { send } = await transport([answer]);
    expect(await send({ method, path: '/a' })).toMatchObject(expected);
  });

  test.each<[string, ApiRequest['method'], Answer, string]>([
    ['a delete with a body', 'DELETE', OK, '200 with application/json'],
    ['a read without a body', 'GET', GONE, '204 without a body'],
    ['a page', 'GET', PAGE, '502 with text/html'],
    ['a redirect', 'GET', { status: 300, body: {} }, '300 with application/json'],
    ['an error of ours with a wrong status', 'GET', { ...MISSING, status: 302 }, '302 with application/json'],
    ['an error of another form', 'GET', { status: 400, body: { error: 'x' } }, '400 with application/json'],
    ['an error of ours under another status', 'GET', { ...MISSING, status: 503 }, '503 with application/json'],
    ['an error of a code that has another status', 'GET', errorOf('NOT_FOUND', 503), '503 with application/json'],
  ])('of the wrong form does not count as the API’s: %s', async (_, method, answer, said) => {
    const { send } = await transport([answer], { retries: 0 });
    const error = await send({ method, path: '/a' }).catch((thrown: unknown) => thrown);
    expect(inspect(error)).not.toContain('no JSON of ours');
    expect(error).toMatchObject({
      name: 'ApiUnreachableError',
      message: expect.stringMatching(new RegExp(`^answered ${said}; is that .*\\(${method} /a, \\d+ bytes\\)$`)),
      answer: said,
      status: answer.status,
    });
  });

  test.each([
    ['INVALID_REQUEST', 400, false],
    ['NOT_FOUND', 404, false],
    ['RATE_LIMITED', 429, true],
    ['INTERNAL_ERROR', 500, true],
    ['UNAVAILABLE', 503, true],
  ])('of %s with %i becomes that error; transient: %s', async (code, status, transient) => {
    const { send } = await transport([errorOf(code, status, { 'retry-after': '2' })], { retries: 0 });
    const error = await send(get).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code,
      status,
      message: 'why',
      details: { '/a': 'b' },
      retryAfterMs: 2000,
    });
    expect(error).toMatchObject({ name: 'ApiError', transient });
  });
});

const id = { idempotencyKey: 'a' };
const at = { ifMatch: '"1"' };

describe.concurrent('the client retries', () => {
  test.each<[string, Partial<ApiRequest>, [Answer, ...Answer[]], number, unknown]>([
    ['a read', {}, [BUSY, OK], 2, 200],
    ['at most twice', {}, [BUSY], 3, 'UNAVAILABLE'],
    ['after an answer that is not the API’s', {}, [PAGE, OK], 2, 200],
    ['a change', { method: 'PATCH' }, [BUSY, OK], 2, 200],
    ['no change with If-Match', { method: 'PATCH', ...at }, [BUSY, OK], 1, 'UNAVAILABLE'],
    ['no create', { method: 'POST' }, [BUSY, OK], 1, 'UNAVAILABLE'],
    ['a create with a key', { method: 'POST', ...id }, [BUSY, OK], 2, 200],
    ['no request that the API refuses for good', {}, [errorOf('CONFLICT', 409), OK], 1, 'CONFLICT'],
    ['any request that was refused before it began', { method: 'POST' }, [LIMITED, OK], 2, 200],
    ['a refused change with If-Match', { method: 'PATCH', ...at }, [LIMITED, OK], 2, 200],
    ['a change, whose outcome a later 404 leaves unknown', { method: 'PATCH' }, [BUSY, MISSING], 2, undefined],
    ['a change that was refused at first', { method: 'PATCH' }, [LIMITED, MISSING], 2, 'NOT_FOUND'],
    ['a delete, which has succeeded if it then finds nothing', { method: 'DELETE' }, [BUSY, MISSING], 2, 204],
    ['no delete that finds nothing at first', { method: 'DELETE' }, [MISSING], 1, 'NOT_FOUND'],
    ['a delete that was refused, and then finds nothing', { method: 'DELETE' }, [LIMITED, MISSING], 2, 'NOT_FOUND'],
    ['a delete that may have begun before it was refused', { method: 'DELETE' }, [BUSY, LIMITED, MISSING], 3, 204],
    ['a read, which then finds nothing', {}, [BUSY, MISSING], 2, 'NOT_FOUND'],
  ])('%s', async (_, call, answers, attempts, outcome) => {
    const { server, send } = await transport(answers);
    const result = await send({ ...get, ...call }).catch((error: unknown) => error);
    expect(result instanceof ApiError ? result.code : result).toEqual(
      typeof outcome === 'string' ? outcome : expect.objectContaining({ status: outcome }),
    );
    expect(server.sent).toHaveLength(attempts);
  });

  test('no request for which the API asks for a longer wait than the caller allows', async () => {
    const wait = (seconds: number) => errorOf('UNAVAILABLE', 503, { 'retry-after': String(seconds) });
    const { server, send } = await transport([wait(1), wait(2), OK], { longestWaitMs: 1000, retries: 5 });
    await expect(send(get)).rejects.toMatchObject({ retryAfterMs: 2000 });
    expect(server.sent).toHaveLength(2);
  });

  test('a request for which the API asks for no wait, even if the caller allows none', async () => {
    const { server, send } = await transport([BUSY, OK], { longestWaitMs: 0 });
    expect(await send(get)).toMatchObject({ status: 200 });
    expect(server.sent).toHaveLength(2);
  });

  const LATER = errorOf('UNAVAILABLE', 503, { 'retry-after': '20' });

  test('nothing once the caller has aborted, even between two attempts', async () => {
    const giveUp = new AbortController();
    const reason = new Error('enough');
    const { server, send } = await transport([LATER, OK], { onAttempt: () => giveUp.abort(reason) });
    await expect(send({ ...get, signal: giveUp.signal })).rejects.toBe(reason);
    expect(server.sent).toHaveLength(1);
  });

  test('nothing once the client is destroyed, even between two attempts', async () => {
    const { server, send, destroy } = await transport([LATER, OK], { onAttempt: () => void destroy() });
    await expect(send(get)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(server.sent).toHaveLength(1);
  });
});

test('every attempt is admitted and reported', async () => {
  const started = performance.now();
  const told: unknown[] = [];
  const { send } = await transport([BUSY, OK], {
    onAttempt: (attempt) => void told.push(attempt),
    admit: (attempt) => {
      told.push('admitted');
      return attempt();
    },
  });
  await send({ ...get, query: { a: 1, b: undefined, c: 'x y' } });
  const most = (performance.now() - started) / 1000;
  const seconds = expect.toSatisfy((value: number) => value > 0 && value <= most);
  const first = { method: 'GET', status: 503, seconds };
  expect(told).toEqual(['admitted', first, 'admitted', { ...first, status: 200 }]);
});

describe('without an answer', () => {
  test('in time, the outcome is unknown', async () => {
    const told: number[] = [];
    const onAttempt = ({ seconds }: { seconds: number }) => void told.push(seconds);
    const { send } = await transport([null], { timeoutMs: 50, retries: 0, onAttempt });
    const error = await send(get).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiUnreachableError);
    expect(error).toMatchObject({
      message: 'GET /a: no answer in time',
      status: undefined,
      cause: expect.objectContaining({ name: 'TimeoutError' }),
    });
    // The time it waited, in seconds.
    expect(told).toEqual([expect.toSatisfy((value: number) => value > 0.04)]);
  });

  test.each([
    ['nothing listens', 'http://127.0.0.1:1', 'connection to 127.0.0.1:1 refused'],
    ['there is no such host', 'http://api.invalid', 'host api.invalid not found'],
  ])('because %s, the reason says so in words, and the attempt has no status', async (_, baseUrl, connection) => {
    const told: unknown[] = [];
    const made = createTransport({
      baseUrl,
      apiKey: 'k',
      retries: 0,
      onAttempt: ({ status }) => void told.push(status),
    });
    atEnd(() => made.close());
    await expect(made.send(get)).rejects.toMatchObject({ connection, message: `GET /a: ${connection}` });
    expect(told).toEqual([undefined]);
  });

  test('because the server has no TLS, the reason says so in words', async () => {
    const { url } = await record(OK);
    const made = createTransport({ baseUrl: url.replace('http:', 'https:'), apiKey: 'k', retries: 0 });
    atEnd(() => made.close());
    const message = expect.stringMatching(/^GET \/a: 127\.0\.0\.1:\d+ answers without TLS: is it http:\/\/\?$/);
    await expect(made.send(get)).rejects.toMatchObject({ message, cause: undefined });
  });

  test('because the caller has aborted, the caller gets its own reason', async () => {
    const { send } = await transport([null]);
    const signal = AbortSignal.timeout(50);
    await expect(send({ ...get, signal })).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('because the client was destroyed, the outcome is unknown', async () => {
    const { server, send, destroy } = await transport([null], { retries: 0 });
    const call = expect(send(get)).rejects.toBeInstanceOf(ApiUnreachableError);
    while (server.sent.length === 0) await new Promise((turn) => setImmediate(turn));
    await destroy();
    await call;
  });
});

test.each<[string, Partial<ApiRequest>, string | RegExp]>([
  ['a header with a line break', { idempotencyKey: 'a\nb' }, 'GET /a: idempotency-key must be text that a header can'],
  ['a body that is not JSON', { body: { a: 1n } }, /BigInt/],
])('a request is not sent if it has %s', async (_, call, said) => {
  const { server, send } = await transport([OK]);
  await expect(send({ ...get, ...call })).rejects.toThrow(expect.objectContaining({ name: 'TypeError' }));
  await expect(send({ ...get, ...call })).rejects.toThrow(said);
  expect(server.sent).toEqual([]);
});

test.each<[Partial<TransportOptions>, string]>([
  [{ apiKey: 'secret\n' }, 'apiKey: must be text that a header can carry'],
  [{ userAgent: 'a\nb' }, 'userAgent: must be text that a header can carry'],
  [{ baseUrl: 'api:80' }, 'baseUrl: must be an http or https URL'],
  [{ baseUrl: 'http://api?a=b' }, 'baseUrl: must have no query and no fragment'],
  [{ baseUrl: 'http://user:secret@api' }, 'baseUrl: must have no user and no password'],
  [{ timeoutMs: Number.NaN }, 'timeoutMs: '],
  [{ longestWaitMs: -1 }, 'longestWaitMs: '],
  [{ retries: 1.5 }, 'retries: '],
])('an invalid option is refused at once: %o', (options, said) => {
  const make = () => createTransport({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k', ...options });
  expect(make).toThrow(said);
  expect(make).not.toThrow('secret');
});
