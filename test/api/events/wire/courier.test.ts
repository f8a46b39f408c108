import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { HTTP } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { makeCertificate } from '../../../../dev/fixtures/x509.ts';
import { courier, destination, EVENT, never, receiver, SECRET, tcpReceiver, webhook } from './receiver.ts';

const OTHER_SECRET = `whsec_${Buffer.alloc(24, 2).toString('base64')}`;

describe('a webhook', () => {
  test.each([
    ['json', EVENT.data, EVENT.principal],
    ['thin', { id: EVENT.data.id, uri: EVENT.data.uri, revision: 7 }, undefined],
  ] as const)('of format %s gets a CloudEvent that their package accepts', async (format, data, principal) => {
    const { port, received } = await receiver();
    const answer = await courier().deliver(webhook(port, '/hook?key=1', { format }), EVENT, never);
    expect(answer).toEqual({ delivered: true, status: 204 });
    const [{ path, headers, body } = { headers: {} }] = received;
    expect(path).toBe('/hook?key=1');
    const event = HTTP.toEvent({ headers, body });
    expect(event).toMatchObject({ validate: expect.any(Function) });
    expect(JSON.parse(String(body))).toEqual({
      specversion: '1.0',
      id: EVENT.id,
      source: 'https://api.example.com',
      type: EVENT.type,
      subject: EVENT.subject,
      time: EVENT.time,
      sequence: EVENT.sequence,
      principal,
      datacontenttype: 'application/json',
      data,
    });
  });

  test('is signed as Standard Webhooks, with each of the secrets', async () => {
    const { port, received } = await receiver();
    const now = () => new Date();
    await courier({ now }).deliver(webhook(port, '/', { secrets: [SECRET, OTHER_SECRET] }), EVENT, never);
    const body = String(received[0]?.body);
    const signed = z.record(z.string(), z.string()).parse(received[0]?.headers);
    expect(signed['webhook-id']).toBe(EVENT.id);
    for (const secret of [SECRET, OTHER_SECRET]) expect(new Webhook(secret).verify(body, signed)).toBeTruthy();
    const wrong = new Webhook(Buffer.alloc(32, 3).toString('base64'));
    expect(() => wrong.verify(body, signed)).toThrow('No matching signature found');
    expect(() => new Webhook(SECRET).verify(body.replace('7', '8'), signed)).toThrow('No matching signature found');
  });

  test('is not called by plain http, unless its host may be', async () => {
    const { port, received } = await receiver();
    const answer = await courier({ httpHosts: ['localhost'] }).deliver(webhook(port), EVENT, never);
    expect(answer).toEqual({ delivered: false, error: expect.stringContaining('EVENT_HTTP_HOSTS') });
    expect(received).toEqual([]);
  });

  test('by https has a valid certificate', async () => {
    const { pem, keyPem } = await makeCertificate();
    const server = createServer({ key: keyPem, cert: pem }, (_, response) => void response.end());
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    onTestFinished(() => void server.close());
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const answer = await courier().deliver(destination({ webhook: { url } }), EVENT, never);
    expect(answer).toEqual({
      delivered: false,
      error: 'no known authority has issued the certificate; NODE_EXTRA_CA_CERTS may add one',
    });
  });
});

describe('the answer', () => {
  const answered = (status: number, headers: object = {}, body = '') =>
    receiver((response) => void response.writeHead(status, { ...headers }).end(body));
  const now = () => new Date('2026-11-21T10:00:00Z');

  test.each<[number, object, object]>([
    [200, {}, { delivered: true }],
    [299, {}, { delivered: true }],
    [400, {}, { delivered: false, error: 'the receiver answered 400' }],
    [410, {}, { delivered: false, gone: true }],
    [503, { 'retry-after': '120' }, { delivered: false, retryAfterMs: 120_000 }],
    [429, { 'retry-after': 'Sat, 21 Nov 2026 10:05:00 GMT' }, { delivered: false, retryAfterMs: 300_000 }],
    [500, { 'retry-after': 'soon' }, { delivered: false, error: 'the receiver answered 500' }],
  ])('%i %o counts for what it is', async (status, headers, expected) => {
    const { port } = await answered(status, headers);
    const answer = await courier({ now }).deliver(webhook(port), EVENT, never);
    expect(answer).toMatchObject({ status, ...expected });
  });

  test('is asked for once more if the connection was closed as it was used again', async () => {
    const requests: number[] = [];
    const { port, connections } = await tcpReceiver((socket) => {
      const connection = connections.length;
      let served = 0;
      socket.on('data', (chunk) => {
        if (!chunk.includes('POST')) return;
        requests.push(connection);
        // As a server that has given up the idle connection: it reads the request, and does not answer.
        if (served++ > 0) socket.destroy();
        else socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      });
    });
    const sender = courier();
    const target = webhook(port);
    expect(await sender.deliver(target, EVENT, never)).toEqual({ delivered: true, status: 204 });
    // Only then is the connection free again.
    await setImmediate();
    expect(await sender.deliver(target, EVENT, never)).toEqual({ delivered: true, status: 204 });
    expect(requests).toEqual([1, 1, 2]);
  });

  test.each([
    ['HTTP/1.1 099 Odd\r\n\r\n', 'the answer is not valid HTTP'],
    ['HTTP/1.1 304 Not Modified\r\n\r\n', 'the receiver answered 304'],
  ])('%j is told in words', async (text, error) => {
    const { port } = await tcpReceiver((socket) => void socket.on('data', () => void socket.end(text)));
    expect(await courier().deliver(webhook(port), EVENT, never)).toMatchObject({ delivered: false, error });
  });

  test('that redirects is not followed', async () => {
    const other = await receiver();
    const { port } = await answered(302, { location: `http://127.0.0.1:${other.port}/` });
    const answer = await courier().deliver(webhook(port), EVENT, never);
    expect(answer).toEqual({
      delivered: false,
      status: 302,
      error: 'the receiver answered 302: redirects are not followed',
    });
    expect(other.received).toEqual([]);
  });

  test('of 1 GB is cut off', async () => {
    const chunk = 'x'.repeat(64 * 1024);
    const closed = Promise.withResolvers<number>();
    const flood = (response: ServerResponse) => {
      const { socket } = response;
      response.on('close', () => closed.resolve(socket?.bytesWritten ?? 0));
      response.writeHead(200, { 'content-length': 1024 ** 3 });
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    };
    const { port } = await receiver(flood);
    const answer = await courier().deliver(webhook(port), EVENT, never);
    expect(answer).toEqual({ delivered: true, status: 200, body: 'x'.repeat(1024) });
    expect(await closed.promise).toBeLessThan(64 * 1024 ** 2);
  });

  test('is kept as printable text, without a cut through a character', async () => {
    const body = `a\u0000b\u001b[31m\u202ec\n${'ü'.repeat(600)}`;
    const { port } = await answered(500, {}, body);
    const { body: kept = '' } = await courier().deliver(webhook(port), EVENT, never);
    expect(kept).toMatch(/^a\ufffdb\ufffd\[31m\ufffdc\nü+$/);
    expect(Buffer.byteLength(kept)).toBe(1023);
  });

  test.each([
    ['the path', 'Cannot POST /services/T0123456/B0123456', 'Cannot POST …'],
    ['the query', 'no such token: 0123456789', 'no such token: …'],
  ])('is kept without the secrets of %s', async (_, body, kept) => {
    const { port } = await answered(404, {}, body);
    const url = '/services/T0123456/B0123456?token=0123456789';
    expect(await courier().deliver(webhook(port, url), EVENT, never)).toMatchObject({ body: kept });
  });

  test('is kept without the API key or the headers that were sent', async () => {
    const { port } = await answered(403, {}, 'not allowed: 0123456789');
    const url = `http://127.0.0.1:${port}/v1/logs`;
    const target = { otlp_logs: { url, headers: { authorization: 'Bearer 0123456789' } } };
    expect(await courier().deliver(destination(target), EVENT, never)).toMatchObject({ body: 'not allowed: …' });
  });

  test('of OTLP that rejects the record is a failure', async () => {
    const rejected = { partialSuccess: { rejectedLogRecords: '1', errorMessage: 'too old' } };
    const { port } = await answered(200, {}, JSON.stringify(rejected));
    const target = { otlp_logs: { url: `http://127.0.0.1:${port}/v1/logs`, headers: {} } };
    const answer = await courier().deliver(destination(target), EVENT, never);
    expect(answer).toMatchObject({ delivered: false, status: 200, error: 'the receiver rejected the record' });
  });
});

describe('without an answer', () => {
  /** Sends the parts, then one byte after the other, for as long as the connection is open. */
  const dripping = (...parts: string[]) =>
    tcpReceiver((socket) => {
      for (const part of parts) socket.write(part);
      const timer = setInterval(() => socket.write('a'), 5);
      socket.on('close', () => clearInterval(timer));
    });
  const closed = ([socket]: readonly Socket[]) => expect.poll(() => socket?.destroyed).toBe(true);

  test('whose headers end in time, it fails and the connection is closed', async () => {
    const { port, connections } = await dripping('HTTP/1.1 200 OK\r\nx-slow: ');
    const answer = await courier({ timeoutMs: 200 }).deliver(webhook(port), EVENT, never);
    expect(answer).toEqual({ delivered: false, error: 'there was no answer in time' });
    await closed(connections);
  });

  test('whose body ends in time, what came counts, and the connection is closed', async () => {
    const { port, connections } = await dripping('HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n');
    const answer = await courier({ timeoutMs: 200 }).deliver(webhook(port), EVENT, never);
    expect(answer).toEqual({ delivered: true, status: 200, body: expect.stringMatching(/^a+$/) });
    await closed(connections);
  });

  test.each([
    ['closes the connection', (socket: Socket) => socket.end(), 'closed the connection without an answer'],
    ['resets it', (socket: Socket) => socket.resetAndDestroy(), 'closed the connection without an answer'],
    ['speaks something else', (socket: Socket) => socket.end('SSH-2.0-x\r\n'), 'the answer is not valid HTTP'],
    [
      'has endless headers',
      (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(99_999)}`),
      'the headers of the answer are too long',
    ],
  ])('since the receiver %s, it says so', async (_, accept, said) => {
    const { port } = await tcpReceiver((socket) => void socket.once('data', () => accept(socket)));
    const answer = await courier().deliver(webhook(port), EVENT, never);
    expect(answer).toEqual({ delivered: false, error: expect.stringContaining(said) });
  });

  test.each([
    ['ENOTFOUND', 'the host name does not exist'],
    ['EAI_AGAIN', 'the host name could not be looked up'],
  ])('since the lookup fails with %s, it says so', async (code, error) => {
    const resolve = () => Promise.reject(Object.assign(new Error('lookup'), { code }));
    const target = { webhook: { url: 'https://hooks.example.com/' } };
    expect(await courier({ resolve }).deliver(destination(target), EVENT, never)).toEqual({ delivered: false, error });
  });

  test('of a receiver, those that others send to the same host arrive', async () => {
    const held: ServerResponse[] = [];
    const { port } = await receiver((response) => {
      if (response.req.url === '/fine') response.end();
      else held.push(response);
    });
    const stop = new AbortController();
    const sender = courier();
    const waiting = Array.from({ length: 16 }, () => sender.deliver(webhook(port, '/held'), EVENT, stop.signal));
    await expect.poll(() => held.length).toBe(16);
    expect(await sender.deliver(webhook(port, '/fine'), EVENT, never)).toMatchObject({ delivered: true });
    stop.abort();
    const stopped = { delivered: false, error: 'it was stopped before there was an answer' };
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => stopped));
  });

  test('it can be stopped during the lookup, and before', async () => {
    const asked = Promise.withResolvers<void>();
    const resolve = () => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    };
    const stop = new AbortController();
    const target = destination({ webhook: { url: 'https://hooks.example.com/' } });
    const sender = courier({ resolve });
    const answer = sender.deliver(target, EVENT, stop.signal);
    await asked.promise;
    stop.abort();
    expect(await answer).toMatchObject({ delivered: false });
    expect(await sender.deliver(target, EVENT, stop.signal)).toMatchObject({ delivered: false });
  });
});
