/** How long a connection may be idle. */
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { ADMIN_KEY, startTestApi, type TestApi } from '../harness.ts';

type Timeouts = NonNullable<Parameters<typeof startTestApi>[0]>['timeouts'];

async function connectedTo({ app }: Pick<TestApi, 'app'>): Promise<Socket> {
  const { port, hostname } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  onTestFinished(() => void socket.destroy());
  return socket;
}

const connected = async (timeouts: Timeouts) => connectedTo(await startTestApi({ timeouts }));

/** Everything received until the server closes the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let received = '';
  socket.on('data', (text: string) => {
    received += text;
  });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('close', resolve));
  return received;
}

test('an idle connection is closed, even in the middle of a request without a timeout', async () => {
  const socket = await connected({ connection: 300, request: 0, handler: 0 });
  const head = ['POST /ip_policies HTTP/1.1', 'host: a', `authorization: Bearer ${ADMIN_KEY}`];
  socket.write([...head, 'content-type: application/json', 'content-length: 100', '', '{'].join('\r\n'));
  expect(await untilClosed(socket)).not.toContain('HTTP/1.1 2');
});

test.each([
  ['for a minute', {}, 60_000],
  ['for longer than a handler may take', { handler: 90_000 }, 95_000],
  ['without limit, if handlers have none', { handler: 0 }, 0],
])('a connection may be idle %s', async (_, timeouts, timeout) => {
  const { app } = await startTestApi({ timeouts });
  expect(app.server.timeout).toBe(timeout);
});

test('an idle connection is kept alive for longer than the 60 s of common load balancers', async () => {
  expect((await startTestApi()).app.server.keepAliveTimeout).toBe(72_000);
});

const beginning = [
  'POST /ip_policies HTTP/1.1',
  'host: a',
  'connection: close',
  `authorization: Bearer ${ADMIN_KEY}`,
  'content-type: application/json',
  'content-length: 2',
  '',
  '{',
].join('\r\n');

test('a body that does not arrive in time gets one response, which says so', async () => {
  const socket = await connected({ handler: 100, request: 500 });
  socket.write(beginning);
  const received = await untilClosed(socket);
  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503']);
  expect(received).toContain('did not arrive in time');
});

test('a body may take longer to arrive than its handler may take', async () => {
  const socket = await connected({ handler: 1_000, request: 0 });
  const closed = untilClosed(socket);
  socket.write(beginning);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  socket.write('}');
  expect(await closed).toMatch(/^HTTP\/1\.1 201 /);
});

test('a client that does not read its responses is disconnected, and no bytes stay in flight', async () => {
  const api = await startTestApi({ timeouts: { connection: 200 } });
  const body = '\u0001'.repeat(64 * 1024);
  for (let n = 0; n < 5; n++) await api.admin.post('/backends/http_response', { body });
  const get = ['GET /backends/http_response HTTP/1.1', 'host: a', `authorization: Bearer ${ADMIN_KEY}`];
  const socket = await connectedTo(api);
  socket.on('error', () => undefined).pause();
  socket.write([...get, 'x-request-id: unread', '', ''].join('\r\n').repeat(8));
  await waitFor('the end of the requests', async () => {
    const isLogged = api.logs.some((line) => line.includes('"unread"') && line.includes('"aborted":true'));
    return isLogged && /^tunnel_api_http_in_flight_bytes 0$/m.test((await api.anonymous.get('/metrics')).text);
  });
});

test('a connection that sends nothing is closed without a response', async () => {
  const socket = await connected({ request: 500 });
  expect(await untilClosed(socket)).toBe('');
});
