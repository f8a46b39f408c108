import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { errorBody } from '../../../src/resources/definition/errors.ts';
import { heldTransaction, startTestApi, untilWaiting } from '../harness.ts';

const api = await startTestApi({ timeouts: { request: 500 } });
const { admin } = api;
const address = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));

/** Sends raw bytes and returns everything that comes back until the connection closes. */
async function raw(text: string): Promise<{ status: number; body: unknown; head: string }> {
  const answer = await exchange(text);
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body), head: head.toLowerCase() };
}

function exchange(text: string): Promise<string> {
  return new Promise((done, failed) => {
    let answer = '';
    const socket = connect(Number(address.port), address.hostname, () => socket.write(text));
    socket.setEncoding('utf8').on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', failed).on('close', () => done(answer));
  });
}

/** The value of the sample that starts with this; 0 before the first. */
async function metric(start: string): Promise<number> {
  const { text } = await api.anonymous.get('/metrics');
  const found = text.split('\n').find((each) => each.startsWith(start));
  return Number(found?.slice(start.length) ?? 0);
}

describe('malformed or unusual HTTP', () => {
  test('gets an error of the usual shape', async () => {
    const { status, body, head } = await raw('NONSENSE\r\n\r\n');
    expect(status).toBe(400);
    expect(errorBody.parse(body).error_code).toBe('INVALID_REQUEST');
    expect(head).toContain('connection: close');
  });

  test('with headers that are too large gets an error that says so', async () => {
    const { status, body } = await raw(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(8_192)}\r\n\r\n`);
    expect(status).toBe(400);
    expect(errorBody.parse(body).details.headers).toBe('are more than 8192 bytes');
  });

  test('that never ends gets a 503, which allows a retry', async () => {
    const { status, body, head } = await raw('POST /ip_policies HTTP/1.1\r\nhost: x\r\ncontent-le');
    expect(status).toBe(503);
    expect(errorBody.parse(body).error_code).toBe('UNAVAILABLE');
    expect(head).toContain('retry-after: 1');
  });

  test.each([
    ['never ends', 'content-length: 100\r\n\r\n{"desc', 503],
    ['is not chunked as announced', 'transfer-encoding: chunked\r\n\r\n{}\r\n{}\r\n', 400],
    ['starts with a chunk and goes on as something else', 'transfer-encoding: chunked\r\n\r\n1\r\n{\r\nno\r\n', 400],
  ])('whose body %s gets one response', async (_, rest, expected) => {
    const start = `POST /ip_policies HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin.key}\r\n`;
    const { status, body, head } = await raw(`${start}content-type: application/json\r\n${rest}`);
    expect(status).toBe(expected);
    expect(errorBody.parse(body).error_code).toBe(expected === 503 ? 'UNAVAILABLE' : 'INVALID_REQUEST');
    expect(head).toContain('connection: close');
    await vi.waitFor(async () => expect(await metric('tunnel_api_http_in_flight_bytes ')).toBe(0));
  });

  test.each([
    ['', 'NONSENSE\r\n\r\n'],
    [', in a body,', 'POST /ip_policies HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nno\r\n'],
  ])('behind a waiting request%s does not cost that request its response', async (_, rest) => {
    const held = await heldTransaction(api.databaseUrl);
    await held.query('lock table ip_policies');
    const head = `host: x\r\nauthorization: Bearer ${admin.key}\r\n`;
    const answers = exchange(`GET /ip_policies HTTP/1.1\r\n${head}\r\n${rest}`);
    await untilWaiting(api, 1);
    await held.rollback();
    expect(await answers).toMatch(/^HTTP\/1\.1 200 (?![\s\S]*HTTP\/1\.1 400)/);
  });

  test.each([
    ['without a host', 'GET /ip_policies HTTP/1.1\r\n', 401],
    ['with a method that HTTP knows but the API does not', 'PROPFIND /ip_policies HTTP/1.1\r\nhost: x\r\n', 405],
    ['with a method that HTTP does not know', 'FROB /ip_policies HTTP/1.1\r\nhost: x\r\n', 400],
  ])('%s gets an error of the usual shape', async (_, head, expected) => {
    const { status, body } = await raw(`${head}connection: close\r\n\r\n`);
    expect(status).toBe(expected);
    expect(errorBody.parse(body).status_code).toBe(expected);
  });

  const post = (...headers: string[]) =>
    raw(`${['POST /ip_policies HTTP/1.1', 'host: x', 'connection: close', ...headers].join('\r\n')}\r\n\r\n`);
  const key = `authorization: Bearer ${admin.key}`;
  const json = 'content-type: application/json';

  test.each([
    ['two keys', 'Authorization', [key, 'authorization: Bearer another']],
    ['the same key twice', 'Authorization', [key, key]],
    ['two media types', 'Content-Type', [key, json, 'content-type: text/plain']],
    ['two hosts', 'Host', [key, 'host: y']],
  ])('with %s is refused, since another reader may take the other one', async (_, name, headers) => {
    const { status, body } = await post(...headers);
    expect([status, errorBody.parse(body).details[name]]).toEqual([400, 'must be sent only once']);
  });

  test.each(['gzip, chunked', 'gzip', 'chunked, gzip', 'identity'])(
    'whose body has the transfer coding %s gets a 501',
    async (coding) => {
      const { status, body } = await post(key, json, `transfer-encoding: ${coding}`);
      expect([status, errorBody.parse(body).error_code]).toEqual([501, 'NOT_IMPLEMENTED']);
    },
  );

  test('whose body is shorter than announced does not reach a handler', async () => {
    const before = await api.rows('select count(*) from ip_policies');
    await new Promise<void>((done) => {
      const headers = {
        authorization: `Bearer ${admin.key}`,
        'content-type': 'application/json',
        'content-length': 10,
      };
      const request = httpRequest(new URL('/ip_policies', address), { method: 'POST', headers });
      request.on('error', () => done()).on('close', () => done());
      request.write('{}', () => request.destroy());
    });
    expect(await api.rows('select count(*) from ip_policies')).toEqual(before);
  });
});
