import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { errorBody } from '../../../src/resources/definition/errors.ts';
import { startTestApi } from '../harness.ts';

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
    const line = z.looseObject({ level: z.number(), msg: z.string() });
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
    expect(errorBody.parse(body).details.headers).toMatch(/too large/);
  });

  test('because it never ends, too: 503, as for everything that passes', async () => {
    const { status, body, head } = await raw('POST /ip_policies HTTP/1.1\r\nhost: x\r\ncontent-le');
    expect(status).toBe(503);
    expect(errorBody.parse(body).error_code).toBe('UNAVAILABLE');
    expect(head).toContain('retry-after: 1');
  });

  test('because its body never ends, too', async () => {
    const head = `POST /ip_policies HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin.key}\r\ncontent-type: application/json\r\n`;
    const { status, body } = await raw(`${head}content-length: 100\r\n\r\n{"desc`);
    expect(status).toBe(503);
    expect(errorBody.parse(body).error_code).toBe('UNAVAILABLE');
  });

  test('behind a request that waits for its answer is not answered in its place', async () => {
    const head = `GET /ip_policies HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin.key}\r\n\r\n`;
    expect(await exchange(`${head}NONSENSE\r\n\r\n`)).not.toContain('HTTP/1.1 400');
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
