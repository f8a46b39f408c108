/** Answers that are not those of a Kubernetes API are described, and never quoted: they may hold a Secret. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { afterAll, expect, test } from 'vitest';
import { KubeApi, type ResourceType } from '../../../src/operator/kube/kube-api.ts';

const SECRET = 'c2VjcmV0LXRva2Vu';
const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };

let answer = { status: 200, type: 'application/json', body: '' };
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.body);
});
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
const apis: KubeApi[] = [];
afterAll(async () => {
  await Promise.all(apis.map((api) => api.close()));
  await new Promise((done) => server.close(done));
});

function connect(user: object = {}): KubeApi {
  const config = new KubeConfig();
  const { port } = server.address() as AddressInfo;
  config.loadFromClusterAndUser(
    { name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'u', ...user },
  );
  const api = new KubeApi(config, { userAgent: 'tests', timeoutMs: 10_000 });
  apis.push(api);
  return api;
}

const api = connect();
const watch = () =>
  Array.fromAsync(
    api.watch(SECRETS, { resourceVersion: '1', timeoutSeconds: 10, signal: AbortSignal.timeout(10_000) }),
  );

test.each<[string, () => Promise<unknown>, number, string, string]>([
  ['a page', () => api.get(SECRETS, 'x'), 200, 'text/html', 'answered 200 with text/html (19 bytes)'],
  ['an error page', () => api.get(SECRETS, 'x'), 502, 'text/html', 'answered 502 with text/html (19 bytes); is that'],
  ['a redirect', () => api.get(SECRETS, 'x'), 302, 'text/html', 'answered 302 with text/html (19 bytes); is that'],
  ['a page instead of a watch', watch, 200, 'text/html', 'a watch event of 19 bytes was incomplete'],
])('%s', async (_, call, status, type, said) => {
  answer = { status, type, body: `<p>${SECRET}` };
  const error = await call().catch((thrown: unknown) => thrown);
  expect(String(error)).toContain(said);
  expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
});

test('what a credential program prints', async () => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'echo', args: [SECRET] };
  const error = await connect({ exec })
    .get(SECRETS, 'x')
    .catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('the credential program did not print JSON');
  expect(inspect(error, { depth: 9 })).not.toContain(SECRET);
});
