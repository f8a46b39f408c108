/** Who may reach whom once `networkPolicy.enabled` is set. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { CHART, DATABASE, helm, named, type Rendered, render } from './helm.ts';

const labels = z.record(z.string(), z.string());
const oneOf = z.object({ key: z.string(), operator: z.literal('In'), values: z.array(z.string()) });
const peer = z.object({
  podSelector: z.object({ matchLabels: labels, matchExpressions: z.array(oneOf).default([]) }).optional(),
});
const rule = z.object({
  ports: z.array(z.object({ port: z.union([z.string(), z.number()]) })),
  from: z.array(peer).optional(),
  to: z.array(peer).optional(),
});
const policies = z.array(z.object({ spec: z.object({ ingress: z.array(rule), egress: z.array(rule).optional() }) }));
const deployment = z.object({
  spec: z.object({ template: z.object({ metadata: z.object({ labels }) }) }),
});

const only = ['networkpolicies.yaml', 'operator/deployment.yaml', 'tests/credential.yaml'];
const selects = ({ podSelector }: z.output<typeof peer>, pod: Record<string, string>) =>
  Object.entries(podSelector?.matchLabels ?? {}).every(([key, value]) => pod[key] === value) &&
  (podSelector?.matchExpressions ?? []).every(({ key, values }) => values.includes(pod[key] ?? ''));
const policyOf = (objects: readonly Rendered[], component: string) => {
  const all = named(objects, 'NetworkPolicy').filter(({ metadata }) => metadata.name.endsWith(`-${component}`));
  const [policy] = policies.parse(all);
  if (!policy) throw new Error(`there is no policy of the ${component}`);
  return policy.spec;
};
const operatorPod = (objects: readonly Rendered[]) =>
  deployment.parse(named(objects, 'Deployment').find(({ metadata }) => metadata.name.endsWith('-operator'))).spec
    .template.metadata.labels;
const testPod = (objects: readonly Rendered[]) => named(objects, 'Pod')[0]?.metadata.labels ?? {};

const shard = (apiUrl: string) => ({
  api: { enabled: false },
  operator: { apiUrl, apiKey: { existingSecret: 'key' } },
  networkPolicy: { enabled: true },
});

test('a shard in a release of its own reaches the API of another release, and so does its helm test', async () => {
  const apiFrom = [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }];
  const first = await render({ ...DATABASE, networkPolicy: { enabled: true, apiFrom } }, { name: 'first' });
  const second = await render(shard('http://first-tunnel-operator-api.tunnels.svc'), { name: 'second', only });
  const [toApi] = policyOf(first, 'api').ingress;
  const admitted = (pod: Record<string, string>) =>
    toApi?.from?.some((one) => one.podSelector !== undefined && selects(one, pod)) === true;
  for (const objects of [first, second]) {
    expect(admitted(operatorPod(objects))).toBe(true);
    expect(admitted(testPod(objects))).toBe(true);
  }
  for (const component of ['operator', 'test'])
    expect(admitted({ 'app.kubernetes.io/component': component })).toBe(false);

  // A Service forwards to the port of the Pod.
  const apiPod = deployment.parse(named(first, 'Deployment').find(({ metadata }) => metadata.name.endsWith('-api')))
    .spec.template.metadata.labels;
  for (const objects of [first, second]) {
    const ways = policyOf(objects, 'operator').egress ?? [];
    expect(ways.some(({ ports, to }) => ports[0]?.port === 8080 && to?.some((one) => selects(one, apiPod)))).toBe(true);
  }
});

test.each([
  ['https://api.example.com', [443, 6443]],
  ['http://api.example.com', [443, 6443, 80]],
  ['https://api.example.com:8443/v1', [443, 6443, 8443]],
  ['http://[2001:db8::1]:9000', [443, 6443, 9000]],
  ['http://[2001:db8::1]', [443, 6443, 80]],
])('an API outside of the release is reached on the port of its URL: %s', async (url, expected) => {
  const ways = policyOf(await render(shard(url), { only }), 'operator').egress ?? [];
  const anywhere = ways.filter(({ to, ports }) => to === undefined && ports[0]?.port !== 53);
  expect(anywhere.map(({ ports }) => ports.map(({ port }) => port))).toEqual([expected]);
});

test.each([
  ['postgres://u:p@db/tunnels', [6432, 5432]],
  ['postgres://u:p@db:6543/tunnels', [6432, 6543]],
  ['postgresql://u:p:1@[2001:db8::1]:5433/tunnels?sslmode=require', [6432, 5433]],
  ['postgres://db', [6432, 5432]],
  ['postgres:///tunnels?host=a&port=5433', [6432, 5433]],
])('the API reaches the database on the configured ports and that of its URL: %s', async (url, expected) => {
  const networkPolicy = { enabled: true, databasePorts: [6432] };
  const [, database] = policyOf(await render({ database: { url }, networkPolicy }, { only }), 'api').egress ?? [];
  expect(database?.ports.map(({ port }) => port)).toEqual(expected);
});

test('the API reaches the receivers of events, by https unless other ports are named', async () => {
  const receivers = async (networkPolicy: object) => {
    const objects = await render({ ...DATABASE, networkPolicy: { enabled: true, ...networkPolicy } }, { only });
    return policyOf(objects, 'api').egress?.at(-1);
  };
  expect(await receivers({})).toEqual({ ports: [{ port: 443 }] });
  const eventTo = [{ podSelector: { matchLabels: { app: 'broker' } } }];
  expect(await receivers({ eventTo, eventPorts: [443, 8080] })).toMatchObject({
    ports: [{ port: 443 }, { port: 8080 }],
    to: eventTo,
  });
});

test.each([
  ['https://acme-v02.api.letsencrypt.org/directory', 443],
  ['https://ca.internal:9000/acme/acme/directory', 9000],
])(
  'what issues certificates reaches the authority on the port of its URL, wherever events may go: %s',
  async (url, port) => {
    const eventTo = [{ podSelector: { matchLabels: { app: 'broker' } } }];
    const values = { ...DATABASE, certificates: { directoryUrl: url }, networkPolicy: { enabled: true, eventTo } };
    const reaches = (objects: readonly Rendered[], component: string) =>
      policyOf(objects, component).egress?.some(({ to, ports }) => to === undefined && ports[0]?.port === port);
    expect(reaches(await render(values, { only }), 'api')).toBe(true);
    const withWorker = await render({ ...values, worker: { enabled: true } }, { only });
    expect(['worker', 'api', 'operator'].map((each) => reaches(withWorker, each))).toEqual([true, false, port === 443]);
  },
);

test('a worker reaches its database and receivers, and is reached only for metrics; the API may still send tests', async () => {
  const values = {
    worker: { enabled: true },
    database: { bundled: { enabled: true } },
    networkPolicy: { enabled: true },
  };
  const objects = await render(values);
  const ports = (component: string) =>
    policyOf(objects, component).egress?.map((way) => way.ports.map(({ port }) => port));
  expect(ports('worker')).toEqual([[53, 53], [5432], [443]]);
  expect(ports('api')).toEqual(ports('worker'));
  expect(policyOf(objects, 'worker').ingress).toEqual([{ ports: [{ port: 'metrics' }] }]);
  const [toDatabase] = policyOf(objects, 'database').ingress;
  const podsOf = (component: string) =>
    deployment.parse(named(objects, 'Deployment').find(({ metadata }) => metadata.name.endsWith(`-${component}`))).spec
      .template.metadata.labels;
  const admitted = (component: string) => toDatabase?.from?.some((one) => selects(one, podsOf(component)));
  expect(['api', 'worker', 'operator'].map(admitted)).toEqual([true, true, false]);
});

test.each(['databasePorts', 'eventPorts', 'operatorPorts', 'tracingPorts', 'dnsPorts'])(
  'networkPolicy.%s cannot be empty: a rule without ports would open all of them',
  async (ports) => {
    const tracing = { endpoint: 'http://collector:4318' };
    const renders = (networkPolicy: object) =>
      helm(['template', 'it', CHART], { ...DATABASE, networkPolicy: { enabled: true, ...networkPolicy }, tracing });
    const refused = (why: string) => ({ code: 1, stderr: expect.stringMatching(new RegExp(why)) });
    const isEmpty = refused(`/networkPolicy/${ports}'?: minItems: got 0, want 1`);
    expect(await renders({ [ports]: [] })).toMatchObject(isEmpty);
    // With null, Helm removes the default.
    const isMissing = refused(`/networkPolicy'?: missing property '${ports}'`);
    expect(await renders({ [ports]: null })).toMatchObject(isMissing);
  },
);
