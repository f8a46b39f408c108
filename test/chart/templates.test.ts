/** What the chart renders, over a matrix of values: helm accepts it, and so does the API server. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readValues } from '../../dev/chart/values.ts';
import { crdYaml } from '../../src/operator/crds/crd.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { tracingSettings } from '../../src/tracing/settings.ts';
import { createNamespace, kubectl } from '../harness.ts';
import { CHART, DATABASE, helm, type Rendered, render } from './helm.ts';

const env = [{ name: 'RATE_LIMIT', value: '10' }];
const pod = {
  extraEnv: env,
  extraVolumes: [{ name: 'ca', secret: { secretName: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
  deploymentAnnotations: { a: 'b' },
  podAnnotations: { a: 'b' },
  podLabels: { c: 'd' },
  nodeSelector: { disk: 'fast' },
  tolerations: [{ key: 'k', operator: 'Exists' }],
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { c: 'd' } } },
  ],
};

/** By name: values that differ in everything that has an effect. */
const MATRIX: Record<string, object> = {
  'a URL': DATABASE,
  'a URL with several hosts': {
    database: { url: 'postgres://u:p@db-1:5432,db-2/tunnels?target_session_attrs=primary' },
  },
  'a Secret of the user': {
    database: { existingSecret: 'mine', existingSecretKey: 'uri' },
    secrets: { existingSecret: 's' },
  },
  'the bundled database': { database: { bundled: { enabled: true } }, networkPolicy: { enabled: true } },
  'the bundled database without a volume': {
    database: { bundled: { enabled: true, persistence: { enabled: false } } },
  },
  CloudNativePG: { database: { cloudNativePG: { enabled: true, storage: { storageClass: 'fast' } } } },
  'some namespaces': { ...DATABASE, watchNamespaces: ['default', 'kube-public'] },
  'only the operator': {
    api: { enabled: false },
    operator: { apiUrl: 'https://api.example.com', apiKey: { existingSecret: 'key' } },
  },
  'only the API': { ...DATABASE, operator: { enabled: false } },
  'CRDs that go with the release': { ...DATABASE, crds: { keep: false } },
  'no CRDs': { ...DATABASE, crds: { enabled: false } },
  everything: {
    ...DATABASE,
    nameOverride: 'other',
    commonLabels: { team: 'platform' },
    global: { imagePullSecrets: [{ name: 'pull' }], priorityClassName: 'system-cluster-critical', logLevel: 'debug' },
    image: { repository: 'registry.example.com/tunnel-operator', digest: `sha256:${'0'.repeat(64)}` },
    api: {
      ...pod,
      baseUrl: 'https://tunnels.example.com',
      autoscaling: { enabled: true },
      service: { type: 'NodePort', port: 8080, annotations: { a: 'b' } },
      ingress: {
        enabled: true,
        className: 'nginx',
        annotations: { a: 'b' },
        hosts: ['tunnels.example.com'],
        tls: [{ secretName: 'tls', hosts: ['tunnels.example.com'] }],
      },
      httpRoute: { enabled: true, parentRefs: [{ name: 'gateway' }], hostnames: ['tunnels.example.com'] },
      serviceAccount: { annotations: { a: 'b' } },
    },
    operator: { ...pod, acceptNewOwner: 'usr_01m7yvm3eyf20vnt1006h45zq2', adoptNamespaces: ['-'] },
    networkPolicy: {
      enabled: true,
      apiFrom: [{ namespaceSelector: {} }],
      metricsFrom: [{ namespaceSelector: {} }],
      databaseTo: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
      tracingTo: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    },
    tracing: { endpoint: 'http://collector.monitoring:4318', headers: { existingSecret: 'h' }, samplingRatio: 0.1 },
    serviceMonitor: { enabled: true, additionalLabels: { release: 'prometheus' } },
    prometheusRule: { enabled: true, runbookUrl: 'https://wiki.example.com/runbooks#' },
    grafanaDashboard: { enabled: true, annotations: { folder: 'Tunnels' } },
  },
};

/** Of other projects, whose CustomResourceDefinitions the cluster of the tests lacks. */
const FOREIGN = ['Cluster', 'HTTPRoute', 'PrometheusRule', 'ServiceMonitor'];

const named = (objects: readonly Rendered[], kind: string) => objects.filter((object) => object.kind === kind);

let namespace: string;
beforeAll(async () => {
  namespace = await createNamespace('chart');
  const warn = 'pod-security.kubernetes.io/warn=restricted';
  expect(await kubectl(['label', 'namespace', namespace, warn])).toMatchObject({ code: 0 });
});

describe.each(Object.entries(MATRIX))('with %s', (_, values) => {
  test('helm lint --strict finds nothing', async () => {
    expect(await helm(['lint', '--strict', CHART], values)).toMatchObject({ code: 0, stderr: '' });
  });

  test('the API server takes every object, without a warning', async () => {
    const objects = await render(values, { namespace });
    const known = objects.filter(({ kind }) => !FOREIGN.includes(kind) && kind !== 'CustomResourceDefinition');
    const list = (items: readonly Rendered[]) => ({ input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
    // Pods are not taken without their account.
    expect(await kubectl(['apply', '-f', '-'], list(named(known, 'ServiceAccount')))).toMatchObject({ code: 0 });
    const dryRun = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict', '-f', '-'];
    expect(await kubectl(dryRun, list(known))).toMatchObject({ code: 0, stderr: '' });
  });
});

test('the objects of other projects are made where they are asked for', async () => {
  const objects = await render(MATRIX.everything ?? {});
  const cluster = await render(MATRIX.CloudNativePG ?? {});
  expect(named(cluster, 'Cluster')).toMatchObject([
    {
      spec: {
        instances: 3,
        storage: { size: '1Gi', storageClass: 'fast' },
        bootstrap: { initdb: { database: 'tunnel_operator' } },
      },
    },
  ]);
  expect(named(objects, 'HTTPRoute')).toMatchObject([
    { spec: { parentRefs: [{ name: 'gateway' }], rules: [{ backendRefs: [{ name: 'it-other-api', port: 8080 }] }] } },
  ]);
  expect(named(objects, 'ServiceMonitor')).toHaveLength(2);
  const [rule] = named(objects, 'PrometheusRule');
  const runbooks = [...JSON.stringify(rule).matchAll(/"runbook_url":"[^"]*#(\w+)"/g)].map(([, name]) => name);
  const page = await readFile(join(CHART, '../../docs/runbooks.md'), 'utf8');
  const explained = [...page.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name.toLowerCase());
  expect(runbooks).toEqual(explained);
});

describe('is refused with the reason:', () => {
  test.each<[string, object, RegExp]>([
    ['no database', {}, /The API needs a database: set exactly one of/],
    ['two databases', { database: { ...DATABASE.database, bundled: { enabled: true } } }, /exactly one of/],
    ['neither an API nor its URL', { api: { enabled: false } }, /the operator needs operator\.apiUrl/],
    [
      'nobody to delete the objects',
      { ...DATABASE, operator: { enabled: false }, crds: { keep: false } },
      /crds\.keep/,
    ],
    ['an Ingress without a host', { ...DATABASE, api: { ingress: { enabled: true } } }, /api\.ingress\.hosts/],
    ['a misspelt value', { ...DATABASE, watchNamespace: ['a'] }, /additional properties 'watchNamespace' not allowed/],
    ['another type', { ...DATABASE, watchNamespaces: 'a' }, /got string, want array/],
    ['a URL of something else', { database: { url: 'mysql://x' } }, /does not match pattern/],
  ])('%s', async (_, values, reason) => {
    const { code, stderr } = await helm(['template', 'it', CHART], values);
    expect(stderr).toMatch(reason);
    expect(code).not.toBe(0);
  });
});

test('the CustomResourceDefinitions are those of crds/, which other tests apply', async () => {
  const objects = named(await render(DATABASE), 'CustomResourceDefinition');
  const specs = new Map(objects.map(({ metadata, spec }) => [metadata.name, spec]));
  expect(specs.size).toBe(allKinds.length);
  for (const kind of allKinds) {
    const { metadata, spec } = parse(crdYaml(kind));
    expect(specs.get(metadata.name)).toEqual(spec);
  }
  const kept = objects.map(({ metadata }) => metadata.annotations['helm.sh/resource-policy']);
  expect(new Set(kept)).toEqual(new Set(['keep']));
  const going = named(await render({ ...DATABASE, crds: { keep: false } }), 'CustomResourceDefinition');
  expect(going.filter(({ metadata }) => 'helm.sh/resource-policy' in metadata.annotations)).toEqual([]);
});

test('a watch of some namespaces needs no right in the whole cluster', async () => {
  const objects = await render({ ...DATABASE, watchNamespaces: ['a', 'b'], rbac: { aggregateClusterRoles: false } });
  expect(objects.filter(({ kind }) => kind.startsWith('ClusterRole'))).toEqual([]);
  const roles = named(objects, 'Role').filter(({ metadata }) => metadata.name === 'it-tunnel-operator-operator');
  expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(['a', 'b']);
});

test('editors of a namespace may make everything but what gives them the rights of the operator', async () => {
  const objects = await render(DATABASE, { only: ['user-roles.yaml'] });
  const edit = objects.find(({ metadata }) => metadata.name.endsWith('-edit'));
  const plurals = allKinds.map(({ plural }) => plural).filter((plural) => plural !== 'apikeys');
  expect(edit).toMatchObject({ rules: [{ resources: plurals }] });
});

test('traces are sent by both programs, with the headers of a Secret, and only where there is an endpoint', async () => {
  const only = ['api/deployment.yaml', 'operator/deployment.yaml', 'networkpolicies.yaml'];
  const objects = await render(MATRIX.everything ?? {}, { only });
  for (const { spec } of named(objects, 'Deployment')) {
    const text = JSON.stringify(spec);
    expect(text).toContain('{"name":"OTEL_EXPORTER_OTLP_ENDPOINT","value":"http://collector.monitoring:4318"}');
    expect(text).toContain('{"name":"OTEL_TRACES_SAMPLER_ARG","value":"0.1"}');
    expect(text).toContain('"valueFrom":{"secretKeyRef":{"name":"h","key":"headers"}}');
    const set = [...text.matchAll(/"name":"(OTEL_\w+)"/g)].map(([, name]) => name);
    const known: string[] = Object.values(tracingSettings).map(({ env: name }) => name);
    expect(set.filter((name = '') => !known.includes(name))).toEqual([]);
  }
  const to = [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }];
  const egress = expect.arrayContaining([{ ports: [{ port: 4318 }], to }]);
  expect(named(objects, 'NetworkPolicy')).toMatchObject([{ spec: { egress } }, { spec: { egress } }]);
  const without = await render({ ...DATABASE, networkPolicy: { enabled: true } }, { only });
  expect(JSON.stringify(without)).not.toMatch(/OTEL_|4318/);
});

test('values with a description are documented, and every comment about one is understood', async () => {
  const yaml = await readFile(join(CHART, 'values.yaml'), 'utf8');
  const count = (pattern: RegExp) => yaml.match(pattern)?.length;
  const all = readValues(yaml);
  const flat = (values: typeof all): typeof all => values.flatMap((value) => [value, ...flat(value.children ?? [])]);
  expect(flat(all).filter(({ description }) => description !== undefined)).toHaveLength(count(/# -- /g) ?? 0);
  expect(flat(all).filter(({ schema }) => Object.keys(schema).length > 0)).toHaveLength(count(/# @schema /g) ?? 0);
});
