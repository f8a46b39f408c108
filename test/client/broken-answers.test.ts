/** Connections that break off, hang or carry no valid answer: what the caller gets, and what is never quoted. */
import { type AddressInfo, createServer } from 'node:net';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { ApiUnreachableError } from '../../src/client/errors.ts';
import { createTransport } from '../../src/client/transport.ts';
import { atEnd } from '../end-of-file.ts';

/** A server that sends these bytes, and then closes the connection or hangs. */
async function answering(bytes: string, { hanging = false } = {}): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => (hanging ? socket.write(bytes) : socket.end(bytes)));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  atEnd(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const HEADERS = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const BROKEN = `${HEADERS}content-length: 100\r\n\r\n{"a":`;
const HTML = 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 3\r\n\r\n<p>';

test.each<[string, string, boolean]>([
  ['breaks off', BROKEN, false],
  ['hangs', BROKEN, true],
  ['is not the API’s', HTML, false],
])('an answer that %s counts as none, and its trace as failed', async (_, bytes, hanging) => {
  const told: unknown[] = [];
  const made = createTransport({
    baseUrl: await answering(bytes, { hanging }),
    apiKey: 'k',
    retries: 0,
    timeoutMs: 200,
    onAttempt: ({ status }) => void told.push(status),
    trace: () => ({ headers: {}, end: ({ error }) => void told.push(error) }),
  });
  atEnd(() => made.destroy());
  const error = await made.send({ method: 'GET', path: '/a' }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiUnreachableError);
  expect(told).toEqual([undefined, expect.stringMatching(/Error$/)]);
});

test('a base URL that leads off the paths of the API is no answer of a missing resource', async () => {
  const body = JSON.stringify({
    error_code: 'NOT_FOUND',
    status_code: 404,
    msg: 'm',
    details: { path: 'does not exist' },
  });
  const head = `HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  const made = createTransport({ baseUrl: await answering(head + body), apiKey: 'k', retries: 0 });
  atEnd(() => made.destroy());
  const answer = '404, since it has no such path';
  await expect(made.send({ method: 'GET', path: '/a' })).rejects.toMatchObject({ name: 'ApiUnreachableError', answer });
});

test('the client gives up on an endless answer', async () => {
  const part = `${(65 * 1024 * 1024).toString(16)}\r\n${'a'.repeat(65 * 1024 * 1024)}`;
  const baseUrl = await answering(`${HEADERS}transfer-encoding: chunked\r\n\r\n${part}`, { hanging: true });
  const made = createTransport({ baseUrl, apiKey: 'k', retries: 0 });
  atEnd(() => made.destroy());
  await expect(made.send({ method: 'GET', path: '/a' })).rejects.toThrow('GET /a: Response content exceeded max size');
});

test('an answer that is not HTTP is not quoted in the error', async () => {
  const made = createTransport({ baseUrl: await answering('a-token, and no HTTP'), apiKey: 'k', retries: 0 });
  atEnd(() => made.destroy());
  const error = await made.send({ method: 'GET', path: '/a' }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiUnreachableError);
  expect(inspect(error)).not.toContain('a-token');
});
