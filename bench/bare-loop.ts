/**
 * The minimum that any operator with the same promises has to do for a new object, without watching, queueing,
 * comparing or deciding anything: the baseline for the operator's rate. Same requests, same order, same concurrency.
 */
import { readFileSync } from 'node:fs';
import { KubeConfig } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';
import { z } from 'zod';
import { API_KEY } from './operator-stack.ts';

const BASE = '/apis/tunnel-operator.dev/v1alpha1';
const MERGE_PATCH = 'application/merge-patch+json';
const created = z.object({ id: z.string(), token: z.string().optional() });
const configuration = z.object({
  kubeconfigPath: z.string(),
  apiUrl: z.string(),
  namespace: z.string(),
  concurrency: z.number(),
  policies: z.array(z.object({ name: z.string(), uid: z.string(), rules: z.array(z.unknown()) })),
  credentials: z.array(z.object({ name: z.string(), uid: z.string() })),
});

type Call = (
  method: Dispatcher.HttpMethod,
  path: string,
  body: unknown,
  headers?: Record<string, string>,
) => Promise<unknown>;

function caller(origin: string, agent: Agent, common: Record<string, string>): Call {
  return async (method, path, body, headers) => {
    const response = await agent.request({
      origin,
      path,
      method,
      headers: { 'content-type': 'application/json', ...common, ...headers },
      body: JSON.stringify(body),
    });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
    return JSON.parse(text);
  };
}

async function forEach<T>(items: readonly T[], concurrency: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items].values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

const { kubeconfigPath, apiUrl, namespace, concurrency, policies, credentials } = configuration.parse(
  JSON.parse(readFileSync(0, 'utf8')),
);
const config = new KubeConfig();
config.loadFromFile(kubeconfigPath);
const tls: { ca?: string | Buffer; cert?: string | Buffer; key?: string | Buffer } = {};
await config.applyToHTTPSOptions(tls);
const { ca, cert, key } = tls;
const server = config.getCurrentCluster()?.server ?? '';
const kube = caller(
  server,
  new Agent({ connect: { ...(ca ? { ca } : {}), ...(cert ? { cert } : {}), ...(key ? { key } : {}) } }),
  {},
);
const api = caller(apiUrl, new Agent(), { authorization: `Bearer ${API_KEY}` });

async function reconcile(
  plural: string,
  object: { name: string; uid: string },
  make: () => Promise<string>,
  status: Record<string, unknown>,
): Promise<void> {
  const path = `${BASE}/namespaces/${namespace}/${plural}/${object.name}`;
  const patch = (body: unknown, at = path) => kube('PATCH', at, body, { 'content-type': MERGE_PATCH });
  const annotations = { 'tunnel-operator.dev/create-generation': '1' };
  await patch({ metadata: { finalizers: ['tunnel-operator.dev/remote-resource'], annotations } });
  const id = await make();
  await patch({ metadata: { annotations: { 'tunnel-operator.dev/external-id': id } } });
  const common = { observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z' };
  const ready = { type: 'Ready', status: 'True', reason: 'Available', message: `${id} matches the spec`, ...common };
  const synced = {
    type: 'Synced',
    status: 'True',
    reason: 'UpToDate',
    message: 'The remote resource matches the spec',
    ...common,
  };
  const uri = `${apiUrl}/${id}`;
  await patch({ status: { id, uri, observedGeneration: 1, ...status, conditions: [ready, synced] } }, `${path}/status`);
}

const started = performance.now();
await Promise.all([
  forEach(policies, concurrency, (policy) =>
    reconcile(
      'ippolicies',
      policy,
      async () => {
        const body = { description: policy.name, metadata: null };
        const { id } = created.parse(await api('POST', '/ip_policies', body, { 'idempotency-key': `${policy.uid}-1` }));
        await api('PUT', `/ip_policies/${id}/rules`, { rules: policy.rules });
        return id;
      },
      { rules: policy.rules.length },
    ),
  ),
  forEach(credentials, concurrency, (credential) =>
    reconcile(
      'tunnelcredentials',
      credential,
      async () => {
        const body = { description: credential.name, metadata: null, acl: ['bind:*.example.com'] };
        const answer = await api('POST', '/credentials', body, { 'idempotency-key': `${credential.uid}-1` });
        const { id, token = '' } = created.parse(answer);
        const encode = (value: string) => Buffer.from(value).toString('base64');
        await kube('POST', `/api/v1/namespaces/${namespace}/secrets`, {
          apiVersion: 'v1',
          kind: 'Secret',
          type: 'tunnel-operator.dev/authtoken',
          metadata: { name: credential.name, labels: { 'app.kubernetes.io/managed-by': 'tunnel-operator' } },
          data: { token: encode(token), 'credential-id': encode(id) },
        });
        return id;
      },
      { secretName: credential.name },
    ),
  ),
]);
process.stdout.write(JSON.stringify({ seconds: (performance.now() - started) / 1000 }));
process.exit(0);
