import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { buildMetricsServer } from '../../../src/api/telemetry/metrics-server.ts';

function build(bytes = async () => Buffer.from('a 1\n')) {
  const logged: unknown[] = [];
  const add = (...line: unknown[]) => void logged.push(line);
  const app = buildMetricsServer({ contentType: 'text/x-metrics', bytes }, { warn: add, error: add });
  onTestFinished(async () => void (await app.close()));
  return { app, logged };
}

async function listening() {
  const { app, logged } = build();
  const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
  const open = async (sent = '') => {
    let received = '';
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.on('data', (part) => {
      received += String(part);
    });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    socket.write(sent);
    return { socket, received: () => received };
  };
  return { app, logged, open };
}

test('serves metrics, and nothing else', async () => {
  const { app } = build();
  const { body, headers } = await app.inject('/metrics');
  expect([body, headers['content-type']]).toEqual(['a 1\n', 'text/x-metrics']);
  expect((await app.inject('/other')).json()).toMatchObject({ error_code: 'NOT_FOUND' });
  const posted = await app.inject({ method: 'POST', url: '/metrics' });
  expect(posted.headers.allow).toBe('GET, HEAD');
  expect(posted.json()).toMatchObject({ error_code: 'METHOD_NOT_ALLOWED' });
});

test('answers a request that is not HTTP as the API does, and logs it', async () => {
  const { open, logged } = await listening();
  const { socket, received } = await open('hello\r\n\r\n');
  await once(socket, 'close');
  expect(received()).toMatch(/^HTTP\/1\.1 400 INVALID_REQUEST\r\n/);
  expect(logged).toEqual([[{ reason: expect.stringContaining('is not valid HTTP') }, expect.any(String)]]);
});

test('answers a failure as the API does, and logs it', async () => {
  const failure = new Error('no metrics');
  const { app, logged } = build(() => Promise.reject(failure));
  const answer = (await app.inject('/metrics')).json();
  expect(answer).toMatchObject({ error_code: 'INTERNAL_ERROR', status_code: 500 });
  const { request_id } = answer.details;
  expect(logged).toEqual([[{ err: failure, request_id }, expect.any(String)]]);
});

test('accepts at most sixteen connections, and logs a refusal', async () => {
  const { open, logged } = await listening();
  const kept = [];
  for (let n = 0; n < 16; n++) kept.push(await open());
  const refused = await open();
  await once(refused.socket, 'close');
  expect(kept.filter(({ socket }) => socket.destroyed)).toEqual([]);
  expect(logged).toEqual([[{ connections: 16 }, expect.stringContaining('refusing connections for metrics')]]);
});
