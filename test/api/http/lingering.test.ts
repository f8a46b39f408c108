/** The last answer of a connection arrives, whatever the client still sends. */
import { stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { startTestApi } from '../harness.ts';
import { open, type Peer, request } from './api-child.ts';

/** More than the kernels of both sides take of what is not read. */
const LARGE = 'x'.repeat(20_000_000);

const CLOSE = { connection: 'close', 'content-type': 'application/json' };

async function start(linger = {}) {
  const api = await startTestApi({ linger });
  return { ...api, port: Number(new URL(await api.app.listen({ port: 0, host: '127.0.0.1' })).port) };
}

const statuses = (peer: Peer) =>
  [...peer.received().matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));

describe('an answer arrives that was sent', () => {
  test.each([
    [
      401,
      'a body',
      request('/ip_policies', {
        method: 'POST',
        headers: { ...CLOSE, authorization: 'Bearer no', 'content-length': `${LARGE.length}` },
      }),
    ],
    [
      413,
      'too large a body',
      request('/ip_policies', { method: 'POST', headers: { ...CLOSE, 'content-length': `${LARGE.length}` } }),
    ],
    [400, 'too large a head', 'GET / HTTP/1.1\r\nhost: a\r\nx: '],
    [400, 'what is not HTTP', 'hello\r\n\r\n'],
    [200, 'something else behind a request that was to be the last', request('/healthz', { headers: CLOSE })],
  ])('%i: while the client is still sending %s', async (status, _, head) => {
    const api = await start();
    const peer = await open(api);
    peer.socket.write(head + LARGE);
    expect(await peer.untilEnded()).toBe('closed');
    expect(statuses(peer)).toEqual([status]);
  });
});

describe('after the last answer, the connection of a client that does not close it is closed', () => {
  test.each([
    ['once it is quiet', { quietMs: 50, mostMs: 600_000 }, 300],
    ['when its time is over', { quietMs: 200, mostMs: 500 }, 5],
  ])('%s', async (_, linger, intervalMs) => {
    const peer = await open({ ...(await start(linger)), halfOpen: true });
    peer.socket.write(request('/healthz', { headers: CLOSE }));
    await peer.until(/"ok"/);
    await waitFor(
      'the end, which is noticed by writing',
      () => {
        if (peer.end() === undefined) peer.socket.write('x');
        return peer.end();
      },
      { intervalMs },
    );
    expect(statuses(peer)).toEqual([200]);
  });
});

test('bytes that wait while the process was busy count as sent', async () => {
  const peer = await open({ ...(await start({ quietMs: 100 })), halfOpen: true });
  const half = LARGE.length / 2;
  peer.socket.write(
    request('/ip_policies', {
      method: 'POST',
      headers: { ...CLOSE, authorization: 'Bearer no', 'content-length': `${LARGE.length}` },
    }),
  );
  await peer.until(/ 401 /);
  // The loop goes on to timers from here, not to what has come.
  await stat('.');
  peer.socket.write(LARGE.slice(half));
  const until = performance.now() + 300;
  while (performance.now() < until);
  peer.socket.end(LARGE.slice(half));
  expect(await peer.untilEnded()).toBe('closed');
});

test('requests behind the last answer are not so much as parsed', async () => {
  const api = await start();
  let parsed = 0;
  api.app.server.prependListener('request', () => parsed++);
  const peer = await open({ ...api, halfOpen: true });
  // An answer without a length ends the connection of a client that does not know a better way.
  peer.socket.write('GET /openapi.json HTTP/1.0\r\nconnection: keep-alive\r\nif-none-match: *\r\n\r\n');
  await new Promise((ended) => peer.socket.once('end', ended));
  expect(statuses(peer)).toEqual([304]);
  peer.socket.write(request('/healthz').repeat(10_000));
  peer.socket.end();
  expect(await peer.untilEnded()).toBe('closed');
  expect(parsed).toBe(1);
});

describe('requests behind one whose body cannot be read', () => {
  const post = (body: string, length = body.length) =>
    request('/ip_policies', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': `${length}` },
      body,
    });

  test.each([
    ['are answered if they take effect', '{]', [400, 201]],
    ['also behind one that is too large', `"${'x'.repeat(2 * 1024 * 1024)}"`, [413, 201]],
  ])('%s', async (_, body, expected) => {
    const api = await start();
    const peer = await open(api);
    peer.socket.write(post(body) + post('{}'));
    await waitFor('both answers', () => statuses(peer).length === 2 || peer.end());
    expect(statuses(peer)).toEqual(expected);
  });

  test('are not, if it is longer than announced; it is answered', async () => {
    const api = await start();
    const peer = await open(api);
    const body = JSON.stringify({ description: 'ää' });
    peer.socket.write(Buffer.from(post(body)));
    expect(await peer.untilEnded()).toBe('closed');
    expect(statuses(peer)).toEqual([400]);
    const other = await open(api);
    other.socket.write(`${post('{}')}\r\n\r\nxx`);
    expect(await other.untilEnded()).toBe('closed');
    expect(statuses(other)).toEqual([201]);
  });
});
