import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { HEAD_LIMITS } from '../../../src/api/http/head.ts';
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

const line = z.looseObject({ level: z.number(), msg: z.string() });

/** The value of the sample that begins so; 0 before the first. */
async function metric(start: string): Promise<number> {
  const { text } = await api.anonymous.get('/metrics');
  const found = text.split('\n').find((each) => each.startsWith(start));
  return Number(found?.slice(start.length) ?? 0);
}

const LARGE = 'are more than 8192 bytes or 100 lines';

describe('what is no proper HTTP', () => {
  test('is answered in the same shape', async () => {
    const { status, body, head } = await raw('NONSENSE\r\n\r\n');
    expect(status).toBe(400);
    expect(errorBody.parse(body).error_code).toBe('INVALID_REQUEST');
    expect(head).toContain('connection: close');
    expect(head).toMatch(/^service-version: 2$/m);
  });

  test('is one warning in the log, and a line each only at debug', async () => {
    for (let n = 0; n < 5; n++) await raw('NONSENSE\r\n\r\n');
    const lines = api.logs.map((text) => line.parse(JSON.parse(text)));
    const reason = 'request: is not valid HTTP/1.1';
    expect(lines.filter((one) => one.reason === reason)).toMatchObject([{ level: 40, msg: 'refusing requests' }]);
    const each = lines.filter(({ msg }) => msg === 'unreadable request');
    expect(each.length).toBeGreaterThanOrEqual(5);
    expect(new Set(each.map(({ level }) => level))).toEqual(new Set([20]));
  });

  test('because its headers are too large, too', async () => {
    const { status, body } = await raw(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`);
    expect(status).toBe(400);
    expect(errorBody.parse(body).details.headers).toBe(LARGE);
  });

  const withHeaders = (lines: string) =>
    exchange(`GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${lines}\r\n`);
  const LINE = 'x: y\r\n';

  test.each([
    ['more bytes than they may have', `x: ${'y'.repeat(HEAD_LIMITS.bytes)}\r\n`],
    ['one line too many', LINE.repeat(HEAD_LIMITS.lines - 1)],
    ['many lines too many', LINE.repeat(5 * HEAD_LIMITS.lines)],
  ])('because its headers are %s', async (_, lines) => {
    const answer = await withHeaders(lines);
    expect(answer).toContain('HTTP/1.1 400 ');
    expect(answer).toContain(`"headers":"${LARGE}"`);
  });

  test.each([
    ['as many bytes as they may have', `x: ${'y'.repeat(HEAD_LIMITS.bytes - 60)}\r\n`],
    ['as many lines', LINE.repeat(HEAD_LIMITS.lines - 2)],
  ])('are no headers of %s', async (_, lines) => {
    expect(await withHeaders(lines)).toContain('HTTP/1.1 200 ');
  });

  test('because it never ends, too: 503, as for everything that passes', async () => {
    const { status, body, head } = await raw('POST /ip_policies HTTP/1.1\r\nhost: x\r\ncontent-le');
    expect(status).toBe(503);
    expect(errorBody.parse(body).error_code).toBe('UNAVAILABLE');
    expect(head).toContain('retry-after: 1');
  });

  test.each([
    ['never ends', 'content-length: 100\r\n\r\n{"desc', 503],
    ['is no sequence of chunks', 'transfer-encoding: chunked\r\n\r\n{}\r\n{}\r\n', 400],
    ['begins as chunks and goes on as something else', 'transfer-encoding: chunked\r\n\r\n1\r\n{\r\nno\r\n', 400],
  ])('because its body %s is answered, logged and counted like every request', async (why, rest, expected) => {
    const id = why.replaceAll(' ', '-');
    const counted = `http_request_duration_seconds_count{method="POST",route="/ip_policies",status_code="${expected}"} `;
    const before = await metric(counted);
    const start = `POST /ip_policies HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin.key}\r\nx-request-id: ${id}\r\n`;
    const { status, body, head } = await raw(`${start}content-type: application/json\r\n${rest}`);
    expect(status).toBe(expected);
    expect(errorBody.parse(body).error_code).toBe(expected === 503 ? 'UNAVAILABLE' : 'INVALID_REQUEST');
    expect(head).toContain('connection: close');
    expect(head).toContain(`x-request-id: ${id}`);
    const lines = api.logs.map((text) => line.parse(JSON.parse(text))).filter(({ request_id }) => request_id === id);
    expect(lines).toMatchObject([{ level: 30, msg: 'request', route: '/ip_policies', status: expected }]);
    expect(await metric(counted)).toBe(before + 1);
    expect(await metric('http_in_flight_bytes ')).toBe(0);
    expect(await metric('http_requests_aborted_total{method="POST",route="/ip_policies"} ')).toBe(0);
  });

  test('behind a request that waits for its answer is not answered in its place', async () => {
    const head = `GET /ip_policies HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin.key}\r\n\r\n`;
    expect(await exchange(`${head}NONSENSE\r\n\r\n`)).not.toContain('HTTP/1.1 400');
  });

  test.each([
    ['goes on as no chunk', 'transfer-encoding: chunked\r\n\r\n1\r\n{\r\nno\r\n', 400],
    ['never ends', 'content-length: 100\r\n\r\n{"desc', 503],
  ])('in a body that %s behind a request that waits costs neither of them its answer', async (_, rest, expected) => {
    const held = await heldTransaction(api.databaseUrl);
    await held.query('lock table ip_policies');
    const head = `host: x\r\nauthorization: Bearer ${admin.key}\r\n`;
    const post = `POST /ip_policies HTTP/1.1\r\n${head}content-type: application/json\r\n${rest}`;
    const answers = exchange(`GET /ip_policies HTTP/1.1\r\n${head}\r\n${post}`);
    await untilWaiting(api, 1);
    await held.rollback();
    const statuses = [...(await answers).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    expect(statuses).toEqual([200, expected]);
  });

  test.each([
    ['without a host', 'GET /ip_policies HTTP/1.1\r\n', 401],
    ['with an expectation that nobody knows', 'GET /ip_policies HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\n', 401],
    ['with a method that HTTP knows and we do not', 'PROPFIND /ip_policies HTTP/1.1\r\nhost: x\r\n', 405],
    ['with a method that nobody knows', 'FROB /ip_policies HTTP/1.1\r\nhost: x\r\n', 400],
  ])('or nearly, %s, too', async (_, head, expected) => {
    const { status, body } = await raw(`${head}connection: close\r\n\r\n`);
    expect(status).toBe(expected);
    expect(errorBody.parse(body).status_code).toBe(expected);
  });

  test('because its host is none is refused where no base URL is configured', async () => {
    const open = await startTestApi({ baseUrl: undefined, databaseUrl: api.databaseUrl });
    const { error } = await open.admin.get('/ip_policies', { host: 'a.example/<script>' });
    expect(error.details.Host).toBe('must be a host name or address, optionally with a port');
    for (const host of ['a:99999', '1.2.3.256', '[::::]']) {
      expect((await open.admin.get('/whoami', { host })).error.details).toHaveProperty('Host');
    }
    const reply = await open.admin.get('/ip_policies?limit=1', { host: 'api.example:8443' });
    expect(JSON.parse(reply.text).uri).toBe('http://api.example:8443/ip_policies');
  });

  test('because its body is shorter than announced does not reach a handler', async () => {
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

describe.each([
  ['a form', 'content-type: application/x-www-form-urlencoded\r\n'],
  ['text', 'content-type: text/plain\r\n'],
  ['no type', ''],
])('an empty body of %s', (_, type) => {
  test.each([
    ['none', '', ''],
    ['one of no bytes', 'content-length: 0\r\n', ''],
    ['one in no pieces', 'transfer-encoding: chunked\r\n', '0\r\n\r\n'],
  ])('is as if there were none: %s', async (_, length, body) => {
    const head = `POST /ip_policies HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${admin.key}\r\nconnection: close\r\n`;
    expect(await exchange(`${head}${type}${length}\r\n${body}`)).toMatch(/^HTTP\/1\.1 201 /);
  });
});
