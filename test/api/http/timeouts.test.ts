/** How long a connection may do nothing. */
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ADMIN_KEY, startTestApi } from '../harness.ts';

async function connected(timeouts: NonNullable<Parameters<typeof startTestApi>[0]>['timeouts']): Promise<Socket> {
  const { app } = await startTestApi({ timeouts });
  const { port, hostname } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** All that comes until the server closes the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let received = '';
  socket.on('data', (text: string) => {
    received += text;
  });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return received;
}

test('a connection on which nothing happens is closed, also in the middle of a request that may take for ever', async () => {
  const socket = await connected({ connection: 300, request: 0, handler: 0 });
  const head = ['POST /ip_policies HTTP/1.1', 'host: a', `authorization: Bearer ${ADMIN_KEY}`];
  socket.write([...head, 'content-type: application/json', 'content-length: 100', '', '{'].join('\r\n'));
  expect(await untilClosed(socket)).not.toContain('HTTP/1.1 2');
});

test('a request that was refused before its body came has no second answer when that does not come', async () => {
  const socket = await connected({ request: 500 });
  socket.write('POST /ip_policies HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{');
  expect((await untilClosed(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
});

test('the head of a second request that does not come has an answer of its own', async () => {
  const socket = await connected({ request: 500 });
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nGET /healthz HTTP/1.1\r\n');
  expect((await untilClosed(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 503']);
});

test('a connection is kept between requests for as long as the answer says', async () => {
  const socket = await connected({ connection: 0, keepAlive: 2_000 });
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  const received = await untilClosed(socket);
  expect(received).toMatch(/^HTTP\/1\.1 200 /);
  expect(received).toMatch(/\r\nkeep-alive: timeout=2\r\n/i);
});

test('by default it is kept for longer than the minute of a load balancer', async () => {
  const socket = await connected({});
  socket.write('GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n');
  const [first] = await new Promise<[string]>((resolve) => socket.once('data', (text: string) => resolve([text])));
  expect(Number(/\r\nkeep-alive: timeout=(\d+)\r\n/i.exec(first)?.[1])).toBeGreaterThan(60);
});
