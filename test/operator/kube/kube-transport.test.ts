import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createSecureServer } from 'node:http2';
import { connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { createAuthority } from '../../../dev/control-plane/certificates.ts';
import { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import { KubeUnreachableError } from '../../../src/operator/kube/kube-error.ts';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { object } from '../objects.ts';
import { answering, configFor, hanging, json, refusal } from './answering.ts';
import { configOf } from './kubeconfigs.ts';

const EVENTS = { group: '', version: 'v1', plural: 'events' };

test('the URL of the server may have a path, as with Rancher', async () => {
  const server = await answering(json(object()));
  for (const path of ['', '/', '/k8s/clusters/c-1', '/k8s/clusters/c-1/']) {
    await server.connect({ config: configFor(server.url + path) }).get(EVENTS, 'a');
  }
  expect(server.asked.map(({ line }) => line)).toEqual([
    'GET /api/v1/events/a',
    'GET /api/v1/events/a',
    'GET /k8s/clusters/c-1/api/v1/events/a',
    'GET /k8s/clusters/c-1/api/v1/events/a',
  ]);
});

test('a call that is answered with 401 is sent once more, on another connection', async () => {
  const server = await answering(refusal(401), json(object()), refusal(401));
  const api = server.connect();
  expect(await api.create(EVENTS, { a: 1 })).toEqual(object());
  expect(server.asked.map(({ line, body }) => line + body)).toEqual(Array(2).fill('POST /api/v1/events{"a":1}'));
  expect(server.asked[0]?.port).not.toBe(server.asked[1]?.port);
  await expect(api.get(EVENTS, 'a')).rejects.toMatchObject({ name: 'KubeError', code: 401 });
  expect(server.asked.length).toBe(4);
});

test('a call that is answered with 401 is sent once more with the credentials that are there by then', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-refused-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'expired');
  const server = await answering((response, asked) => {
    writeFileSync(tokenFile, 'rotated');
    refusal(401)(response, asked);
  }, json(object()));
  const api = server.connect({
    config: await configOf(folder, { tokenFile }, { server: server.url, 'insecure-skip-tls-verify': true }),
  });
  expect(await api.get(EVENTS, 'a')).toEqual(object());
  expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer expired', 'Bearer rotated']);
});

/** A proxy that makes every connection that it is asked for. */
async function startProxy(): Promise<string> {
  const proxy = createServer().on('connect', ({ url }, client) => {
    const { hostname, port } = new URL(`http://${url}`);
    const target = connect(Number(port), hostname, () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    pipeline(client, target, client, () => {});
  });
  return `http://127.0.0.1:${await listen(proxy)}`;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => new Promise<void>((done) => void server.close(() => done())));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

test.each([
  ['directly', async () => ({})],
  ['through a proxy', async () => ({ 'proxy-url': await startProxy() })],
])('client and server authenticate each other %s, and speak HTTP/1.1', async (_, proxy) => {
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-certificates-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const authority = await createAuthority('tests');
  const { certificate: cert, key } = await authority.issueServer('server', [], ['127.0.0.1']);
  const client = await authority.issueClient('client');
  const options = { cert, key, ca: authority.certificate, requestCert: true, allowHTTP1: true };
  const server = createSecureServer(options, ({ httpVersion }, response) =>
    response.end(JSON.stringify(object({ metadata: { labels: { httpVersion } } }))),
  );
  const port = await listen(server);
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const user = { 'client-certificate-data': base64(client.certificate), 'client-key-data': base64(client.key) };
  const config = await configOf(folder, user, {
    server: `https://127.0.0.1:${port}`,
    'certificate-authority-data': base64(authority.certificate),
    ...(await proxy()),
  });
  const api = new KubeApi(config, { userAgent: 'tests', timeoutMs: 10_000 });
  onTestFinished(() => api.close());
  expect(await api.get(EVENTS, 'a')).toMatchObject({ metadata: { labels: { httpVersion: '1.1' } } });
});

/** Takes longer than the timeout, because timers of the HTTP client tick every half second. */
test('a call fails if the server sends nothing, or stops in the middle of the response', async () => {
  const server = await answering(() => {}, hanging('{"metadata":'));
  const api = server.connect({ timeoutMs: 100 });
  const error = await api.get(EVENTS, 'a').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(KubeUnreachableError);
  expect(error).toMatchObject({
    message: 'GET /api/v1/events/a: Headers Timeout Error',
    cause: { code: 'UND_ERR_HEADERS_TIMEOUT' },
  });
  await expect(api.get(EVENTS, 'a')).rejects.toThrow('GET /api/v1/events/a: Body Timeout Error');
});

test('a call ends as soon as it is aborted, with the reason for the abort', async () => {
  const stop = new AbortController();
  const server = await answering(() => stop.abort(new Error('enough')));
  await expect(server.connect().list(EVENTS, { signal: stop.signal })).rejects.toThrow(/^enough$/);
});

test('closing ends all calls and watches in progress, even on connections that were replaced', async () => {
  const server = await answering(hanging(), refusal(401), () => {});
  const api = server.connect();
  const { signal } = new AbortController();
  const asked = async (times: number) => {
    while (server.asked.length < times) await delay(5);
  };
  const failed = (attempt: Promise<unknown>) => attempt.then(() => 'success').catch((thrown: Error) => thrown.name);
  const watch = failed(Array.fromAsync(api.watch(EVENTS, { resourceVersion: '1', timeoutSeconds: 9, signal })));
  await asked(1);
  const get = failed(api.get(EVENTS, 'a'));
  await asked(3);
  await api.close();
  expect(await Promise.all([watch, get])).toEqual(['KubeUnreachableError', 'KubeUnreachableError']);
  expect(await failed(api.get(EVENTS, 'a'))).toBe('KubeUnreachableError');
});

test('every attempt is timed, and counted by its outcome', async () => {
  const registry = new Registry();
  const server = await answering(json(object()), refusal(401), refusal(404), (response) => response.destroy());
  const { host } = new URL(server.url);
  const api = server.connect({ metrics: createKubeMetrics(registry, 'tests') });
  for (let call = 0; call < 3; call++) await api.get(EVENTS, 'a').catch(() => {});
  const text = await registry.metrics();
  expect(text.match(/^rest_client_requests_total\{.*/gm)).toEqual(
    ['200', '401', '404', '<error>'].map(
      (code) => `rest_client_requests_total{method="GET",code="${code}",host="${host}"} 1`,
    ),
  );
  expect(text).toContain(`rest_client_request_duration_seconds_count{verb="GET",host="${host}"} 4\n`);
});
