import { afterEach, test } from 'vitest';
import { startTestApi } from '../harness.ts';
import { open } from './api-child.ts';

const api = await startTestApi();
const { port } = new URL(await api.app.listen({ host: '127.0.0.1', port: 0 }));

const peers: Awaited<ReturnType<typeof open>>[] = [];
afterEach(() => {
  for (const { socket } of peers.splice(0)) socket.destroy();
});

const KEY = `authorization: Bearer ${api.admin.key}`;
const JSON_TYPE = 'content-type: application/json';

async function announce(length: number, ...headers: string[]) {
  const peer = await open({ port: Number(port) });
  peers.push(peer);
  const head = [
    'POST /ip_policies HTTP/1.1',
    'host: a',
    'expect: 100-continue',
    `content-length: ${length}`,
    ...headers,
  ];
  peer.socket.write(`${head.join('\r\n')}\r\n\r\n`);
  return peer;
}

test('a client that waits is asked for its body', async () => {
  const peer = await announce(2, KEY, JSON_TYPE);
  await peer.until(/^HTTP\/1.1 100 Continue\r\n\r\n$/);
  peer.socket.write('{}');
  await peer.until(/\r\n\r\nHTTP\/1.1 201 /);
});

test.each<[string, number, string[], number]>([
  ['without a key', 2, [JSON_TYPE], 401],
  ['whose body is too large', 2 * 1024 * 1024, [KEY, JSON_TYPE], 413],
  ['whose body is not JSON', 2, [KEY, 'content-type: text/plain'], 415],
])('a client %s is not, and its connection closes', async (_, length, headers, status) => {
  const peer = await announce(length, ...headers);
  await peer.until(new RegExp(`^HTTP\\/1.1 ${status} [\\s\\S]*connection: close`, 'i'));
});
