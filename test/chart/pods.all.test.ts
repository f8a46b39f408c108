/** How the chart configures its Pods. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { apiSettings } from '../../src/api/settings.ts';
import { workerSettings } from '../../src/api/worker-settings.ts';
import { operatorSettings } from '../../src/operator/settings.ts';
import { tracingSettings } from '../../src/tracing/settings.ts';
import { CHART, DATABASE, named, type Rendered, render } from './helm.ts';
import { EXTRA, MATRIX } from './matrix.ts';

const container = z.object({
  name: z.string(),
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })).default([]),
});
const podSpec = z.object({ initContainers: z.array(container).optional(), containers: z.array(container) });
const template = z.object({ template: z.object({ metadata: z.unknown(), spec: z.unknown() }) });
const deployment = z.object({ spec: z.object({ template: z.object({ spec: podSpec }) }) });

/** The environment variables of each container in all Deployments, by container name. */
async function environments(values: object): Promise<Record<string, Record<string, string | undefined>>> {
  const containers = deployment
    .array()
    .parse(named(await render(values), 'Deployment'))
    .flatMap(({ spec: { template } }) => [...(template.spec.initContainers ?? []), ...template.spec.containers]);
  return Object.fromEntries(
    containers.map(({ name, env }) => {
      expect(new Set(env.map((one) => one.name)).size, `${name} has a variable twice`).toBe(env.length);
      return [name, Object.fromEntries(env.map((one) => [one.name, one.value]))];
    }),
  );
}

test('extraEnv replaces the variables that the chart sets', async () => {
  const all = await environments(MATRIX.everything ?? {});
  expect(all).toMatchObject({ migrate: EXTRA, api: EXTRA, worker: EXTRA, operator: EXTRA });
});

test('a worker delivers events instead of the API, with the settings of the API', async () => {
  const events = { EVENT_ALLOW_NETWORKS: '10.96.0.0/12', EVENT_HTTP_HOSTS: 'broker.internal' };
  const extraEnv = Object.entries({ ...events, RATE_LIMIT: '10' }).map(([name, value]) => ({ name, value }));
  const api = { baseUrl: 'https://tunnels.example.com', extraEnv };
  const given = await environments({ ...DATABASE, api, worker: { enabled: true } });
  expect(given.api).toMatchObject({ EVENT_DELIVERY: 'false' });
  const same = { BASE_URL: api.baseUrl, ...events };
  expect(given.worker).toMatchObject(same);
  const variables = Object.values(workerSettings).map(({ env }) => env);
  expect([...variables, 'LOG_LEVEL']).toEqual(expect.arrayContaining(Object.keys(given.worker ?? {})));
  expect((await environments({ ...DATABASE, api })).api).not.toHaveProperty('EVENT_DELIVERY');
});

test.each([
  ['api', 'HOST'],
  ['api', 'PORT'],
  ['api', 'METRICS_PORT'],
  ['worker', 'METRICS_HOST'],
  ['worker', 'METRICS_PORT'],
  ['operator', 'METRICS_HOST'],
  ['operator', 'METRICS_PORT'],
] as const)('users cannot set where the %s listens, because probes depend on it: %s', async (component, name) => {
  const values = { ...DATABASE, [component]: { extraEnv: [{ name, value: '9999' }] } };
  await expect(environments(values)).rejects.toThrow(`${component}.extraEnv cannot set ${name}: probes`);
});

test.each([
  ['all namespaces by default', [], undefined],
  ['no namespace', ['-'], []],
  ['the named namespaces', ['a', 'b'], ['a', 'b']],
])('existing resources may be adopted in %s', async (_, adoptNamespaces, expected) => {
  const { operator } = await environments({ ...DATABASE, operator: { adoptNamespaces } });
  expect(operatorSettings.adoptNamespaces.schema.parse(operator?.ADOPT_NAMESPACES)).toEqual(expected);
});

test('users and groups can be left to the cluster, as docs/install/options.md says for OpenShift', async () => {
  const page = await readFile(join(CHART, '../../docs/install/options.md'), 'utf8');
  const [, values = ''] = /`(podSecurityContext: \{.*?\})`/.exec(page) ?? [];
  const all = { ...DATABASE, crds: { keep: false } };
  const given = JSON.stringify(await render(all));
  const left = JSON.stringify(await render({ ...all, ...parse(values) }));
  for (const member of ['"runAsUser"', '"runAsGroup"', '"fsGroup"']) {
    expect(given).toContain(member);
    expect(left).not.toContain(member);
  }
  expect(left).toContain('"runAsNonRoot":true');
});

test.each([0, 0.00001])('both programs accept the sampling ratio %d', async (samplingRatio) => {
  const tracing = { endpoint: 'http://collector.monitoring:4318', samplingRatio };
  const { api, operator } = await environments({ ...DATABASE, tracing });
  for (const environment of [api, operator])
    expect(tracingSettings.tracesSampled.schema.parse(environment?.OTEL_TRACES_SAMPLER_ARG)).toBe(samplingRatio);
});

test.each([
  ['api', 602, apiSettings.shutdownTimeoutMs.schema],
  ['worker', 602, workerSettings.shutdownTimeoutMs.schema],
  ['operator', 3602, operatorSettings.shutdownMs.schema],
] as const)('the %s accepts the longest grace period that the chart accepts', async (name, most, schema) => {
  const values = (seconds: number) => ({
    ...DATABASE,
    [name]: { enabled: true, terminationGracePeriodSeconds: seconds },
  });
  const all = await environments(values(most));
  expect(schema.parse(all[name]?.SHUTDOWN_TIMEOUT)).toBe((most - 2) * 1000);
  await expect(environments(values(most + 1))).rejects.toThrow('maximum');
});

test('startup and liveness probes depend on neither the database nor another API', async () => {
  const objects = named(await render({ ...DATABASE, worker: { enabled: true } }), 'Deployment');
  const asking = (path: string) => ({ httpGet: { path } });
  const probes = {
    startupProbe: asking('/healthz'),
    livenessProbe: asking('/healthz'),
    readinessProbe: asking('/readyz'),
  };
  const deployed = { spec: { template: { spec: { containers: [probes] } } } };
  expect(objects).toMatchObject([deployed, deployed, deployed]);
});

/** Every Pod that the objects create, by the name of the object. */
function podsOf(objects: readonly Rendered[]) {
  const found = objects.flatMap(({ kind, metadata, spec }) => {
    if (kind === 'Pod') return [[metadata.name, { metadata, spec }] as const];
    const { data } = template.safeParse(spec);
    return data ? [[metadata.name, data.template] as const] : [];
  });
  return Object.fromEntries(found);
}

test('every Pod has its placement, the common labels, and no variables of foreign Services', async () => {
  const placement = {
    nodeSelector: { disk: 'fast' },
    tolerations: [{ key: 'k', operator: 'Exists' }],
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
  };
  const resources = { limits: { cpu: '1', memory: '1Gi' } };
  // Hooks have no replicas to keep apart.
  const apart = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] } };
  const operator = { ...placement, affinity: { ...placement.affinity, ...apart } };
  const objects = await render({
    global: { imagePullSecrets: ['pull'], priorityClassName: 'high' },
    commonLabels: { team: 'edge' },
    crds: { keep: false },
    database: { bundled: { enabled: true, ...placement } },
    api: placement,
    worker: { ...placement, enabled: true },
    operator,
    hooks: { podAnnotations: { mesh: 'off' }, podLabels: { of: 'hook' }, resources },
  });
  expect(objects.filter(({ metadata }) => metadata.labels.team !== 'edge')).toEqual([]);
  const common = { imagePullSecrets: [{ name: 'pull' }], priorityClassName: 'high', enableServiceLinks: false };
  const pods = podsOf(objects);
  const pod = (spec: object) => ({ metadata: { labels: { team: 'edge' } }, spec: { ...common, ...spec } });
  const hook = {
    metadata: { labels: { team: 'edge', of: 'hook' }, annotations: { mesh: 'off' } },
    spec: { ...common, ...placement, containers: [{ resources }] },
  };
  expect(pods).toMatchObject({
    'it-tunnel-operator-api': pod(placement),
    'it-tunnel-operator-worker': pod(placement),
    'it-tunnel-operator-operator': pod(operator),
    'it-tunnel-operator-database': pod(placement),
    'it-tunnel-operator-test': hook,
    'it-tunnel-operator-uninstall': hook,
  });
  expect(Object.keys(pods)).toHaveLength(6);
  expect(JSON.stringify([pods['it-tunnel-operator-test'], pods['it-tunnel-operator-uninstall']])).not.toContain(
    'podAntiAffinity',
  );
});

test.each(['api', 'worker', 'operator'])('what users set for the Pods of the %s is in its Deployment', async (name) => {
  const other = name === 'api' ? 'operator' : 'api';
  const [deployed, untouched] = [name, other].map((each) => `it-other-${each}`);
  const own = z.object({ [name]: z.looseObject({}) }).parse(MATRIX.everything);
  const global = { imagePullSecrets: ['shared'], priorityClassName: 'shared' };
  const deployments = named(await render({ ...DATABASE, global, nameOverride: 'other', ...own }), 'Deployment');
  const [changed, same] = [deployed, untouched].map((each) =>
    deployments.find(({ metadata }) => metadata.name === each),
  );
  const probed = { startupProbe: { exec: { command: ['/started'] } }, readinessProbe: { timeoutSeconds: 10 } };
  const envFrom = [{ configMapRef: { name: 'settings' } }];
  const migrate = name === 'operator' ? [] : [{ name: 'migrate', envFrom }];
  expect(changed?.spec).toMatchObject({
    strategy: { type: 'Recreate', rollingUpdate: null },
    revisionHistoryLimit: 0,
    template: {
      spec: {
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['10.0.0.10'] },
        hostAliases: [{ ip: '10.0.0.1' }],
        schedulerName: 'other',
        priorityClassName: 'system-node-critical',
        imagePullSecrets: [{ name: 'own' }],
        initContainers: [{ name: 'first' }, ...migrate],
        containers: [{ name, envFrom, ...probed }, { name: 'more' }],
      },
    },
  });
  const shown = JSON.stringify(changed?.spec);
  expect(shown).toContain('"httpGet":{"path":"/readyz"');
  expect(shown).not.toMatch(/livenessProbe|"httpGet":{"path":"\/healthz"/);
  expect(same?.spec).toMatchObject({
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: { spec: { priorityClassName: 'shared', imagePullSecrets: [{ name: 'shared' }] } },
  });
});

test('the security context of one program, and of the database, differs from that of all by what is set', async () => {
  const changes = {
    podSecurityContext: { runAsUser: 1000, fsGroup: null },
    containerSecurityContext: { readOnlyRootFilesystem: null },
  };
  const bundled = { enabled: true, ...changes };
  const objects = await render({ crds: { keep: false }, database: { bundled }, operator: changes });
  const user = { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 65532, seccompProfile: { type: 'RuntimeDefault' } };
  const secured = z.object({
    spec: z.object({
      securityContext: z.unknown(),
      containers: z.array(z.object({ securityContext: z.unknown() })).min(1),
    }),
  });
  const pods = Object.fromEntries(
    Object.entries(podsOf(objects)).map(([name, pod]) => [name.replace('it-tunnel-operator-', ''), secured.parse(pod)]),
  );
  const containers = [{ securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } }];
  for (const name of ['operator', 'test', 'uninstall'])
    expect(pods[name]?.spec).toEqual({ securityContext: user, containers });
  const group = { runAsGroup: 999, fsGroupChangePolicy: 'OnRootMismatch' };
  expect(pods.database?.spec).toEqual({ securityContext: { ...user, ...group }, containers });
  expect(pods.api?.spec).toMatchObject({
    securityContext: { runAsUser: 65532, fsGroup: 65532 },
    containers: [{ securityContext: { readOnlyRootFilesystem: true } }],
  });
});

test('new Pods are spread apart from each other, not from those that an upgrade replaces', async () => {
  const topologySpreadConstraints = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
    topologyKey,
    matchLabelKeys: ['pod-template-hash'],
  }));
  const pod = { spec: { topologySpreadConstraints } };
  expect(podsOf(await render({ ...DATABASE, worker: { enabled: true } }))).toMatchObject({
    'it-tunnel-operator-api': pod,
    'it-tunnel-operator-worker': pod,
    'it-tunnel-operator-operator': pod,
  });
});

test('every hook of helm test has the name of its Pod, of which Helm 3 reads the log for each', async () => {
  const hooks = await render(DATABASE, { only: ['tests/credential.yaml'] });
  expect(new Set(hooks.map(({ metadata }) => metadata.name))).toEqual(new Set(['it-tunnel-operator-test']));
});

test('helm test reaches the API as the operator does', async () => {
  const extraEnv = [
    { name: 'NODE_EXTRA_CA_CERTS', value: '/ca/ca.crt' },
    { name: 'TUNNEL_API_URL', value: 'https://elsewhere' },
    { name: 'TUNNEL_API_KEY_FILE', value: '/scripts/key' },
  ];
  const extraVolumes = [{ name: 'scripts', secret: { secretName: 'ca' } }];
  const extraVolumeMounts = [{ name: 'scripts', mountPath: '/scripts' }];
  const values = { ...DATABASE, operator: { extraEnv, extraVolumes, extraVolumeMounts } };
  const [pod] = named(await render(values, { only: ['tests/credential.yaml'] }), 'Pod');
  expect(pod).toMatchObject({
    spec: {
      volumes: [{ name: 'helm-test' }, ...extraVolumes],
      containers: [{ volumeMounts: [{ name: 'helm-test' }, ...extraVolumeMounts] }],
    },
  });
  const env = z.object({ containers: z.array(container).length(1) }).parse(pod?.spec).containers[0]?.env ?? [];
  expect(env).toEqual(expect.arrayContaining(extraEnv));
  expect(env.map(({ name }) => name)).not.toContain('TUNNEL_API_KEY');
  expect(new Set(env.map(({ name }) => name)).size).toBe(env.length);
});

test('API and operator send traces, with headers from a Secret, only if an endpoint is set', async () => {
  const only = ['api/deployment.yaml', 'operator/deployment.yaml', 'networkpolicies.yaml'];
  const objects = await render(MATRIX.everything ?? {}, { only });
  for (const { spec } of named(objects, 'Deployment')) {
    const text = JSON.stringify(spec);
    expect(text).toContain('{"name":"OTEL_EXPORTER_OTLP_ENDPOINT","value":"http://collector.monitoring:4318"}');
    expect(text).toContain('{"name":"OTEL_TRACES_SAMPLER_ARG","value":"0.1"}');
    expect(text).toContain('"valueFrom":{"secretKeyRef":{"key":"headers","name":"h"}}');
    const set = [...text.matchAll(/"name":"(OTEL_\w+)"/g)].map(([, name]) => name);
    const known: string[] = Object.values(tracingSettings).map(({ env: name }) => name);
    expect(set.filter((name = '') => !known.includes(name))).toEqual([]);
  }
  const to = [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }];
  const egress = expect.arrayContaining([{ ports: [{ port: 4318 }], to }]);
  const ofPrograms = named(objects, 'NetworkPolicy').filter(({ metadata }) => /-(api|operator)$/.test(metadata.name));
  expect(ofPrograms).toMatchObject([{ spec: { egress } }, { spec: { egress } }]);
  const without = await render({ ...DATABASE, networkPolicy: { enabled: true } }, { only });
  expect(JSON.stringify(without)).not.toMatch(/OTEL_|4318/);
});
