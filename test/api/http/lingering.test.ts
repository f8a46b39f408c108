/** The last answer of a connection arrives, whatever the client still sends. */
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
