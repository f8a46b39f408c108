/** What the chart renders, over a matrix of values: helm accepts it, and so does the API server. */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readValues } from '../../dev/chart/values.ts';
import { crdYaml } from '../../src/operator/crds/crd.ts';
import { allKinds } from '../../src/operator/kinds/kinds.ts';
import { createNamespace, kubectl } from '../harness.ts';
import { CHART, DATABASE, helm, named, type Rendered, render } from './helm.ts';
import { MATRIX } from './matrix.ts';

/** Of other projects, whose CustomResourceDefinitions the cluster of the tests lacks. */
const FOREIGN = ['Cluster', 'HTTPRoute', 'PrometheusRule', 'ServiceMonitor'];

const template = z.object({
  template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) }),
});

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
  const synchronous = { method: 'any', number: 1, dataDurability: 'required' };
  const postgresql = { parameters: { max_connections: '100' }, synchronous };
  const recovery = { source: 'tunnels', database: 'tunnel_operator', owner: 'tunnel_operator' };
  const spec = { bootstrap: { recovery }, storage: { resizeInUseVolumes: false } };
  const recovered = await render({ database: { cloudNativePG: { enabled: true, spec } } });
  const storage = { size: '1Gi', resizeInUseVolumes: false };
  // One way to begin is all that is allowed.
  expect(named(recovered, 'Cluster')[0]?.spec).toEqual({ instances: 3, storage, postgresql, bootstrap: { recovery } });
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
    [
      "the namespace's own account for the operator",
      { ...DATABASE, operator: { serviceAccount: { create: false } } },
      /operator\.serviceAccount\.create=false needs operator\.serviceAccount\.name/,
    ],
    ['a misspelt value', { ...DATABASE, watchNamespace: ['a'] }, /additional properties 'watchNamespace' not allowed/],
    ['another type', { ...DATABASE, watchNamespaces: 'a' }, /got string, want array/],
    ['a URL of something else', { database: { url: 'mysql://x' } }, /does not match pattern/],
  ])('%s', async (_, values, reason) => {
    const { code, stderr } = await helm(['template', 'it', CHART], values);
    expect(stderr).toMatch(reason);
    expect(code).not.toBe(0);
  });

  test('a Kubernetes whose CEL lacks isIP and isCIDR in what is stored', async () => {
    const on = (version: string) => helm(['template', 'it', CHART, '--kube-version', version], DATABASE);
    expect(await on('1.30.9')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('requires kubeVersion: >=1.31'),
    });
    expect(await on('1.31.0')).toMatchObject({ code: 0, stderr: '' });
  });
});

test('another chart may depend on this one, on a condition, and share global values with it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-umbrella-'));
  try {
    const dependency = { name: 'tunnel-operator', version: '0.1.0', condition: 'tunnel-operator.enabled' };
    const chart = { apiVersion: 'v2', name: 'umbrella', version: '1.0.0', dependencies: [dependency] };
    await mkdir(join(folder, 'charts'));
    await symlink(CHART, join(folder, 'charts/tunnel-operator'));
    await writeFile(join(folder, 'Chart.yaml'), JSON.stringify(chart));
    const rendered = (enabled: boolean) =>
      helm(['template', 'it', folder], {
        global: { imageRegistry: 'registry.example.com' },
        'tunnel-operator': { ...DATABASE, enabled },
      });
    expect(await rendered(true)).toMatchObject({ code: 0, stdout: expect.stringContaining('kind: Deployment') });
    expect(await rendered(false)).toMatchObject({ code: 0, stdout: expect.not.stringContaining('kind:') });
  } finally {
    await rm(folder, { recursive: true });
  }
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
  const roles = named(objects, 'Role').filter(({ metadata }) => metadata.name.endsWith('-it-tunnel-operator-operator'));
  expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(['a', 'b']);
});

test('editors of a namespace may make everything but what gives them the rights of the operator', async () => {
  const objects = await render(DATABASE, { only: ['user-roles.yaml'] });
  const edit = objects.find(({ metadata }) => metadata.name.endsWith('-edit'));
  const plurals = allKinds.map(({ plural }) => plural).filter((plural) => plural !== 'apikeys');
  expect(edit).toMatchObject({ rules: [{ resources: plurals }] });
});

test('labels for all objects are on all, Pods included', async () => {
  const objects = await render({ database: { bundled: { enabled: true } }, commonLabels: { team: 'edge' } });
  const lacking = (labels?: Readonly<Record<string, string>>) => labels?.team !== 'edge';
  expect(objects.filter(({ metadata }) => lacking(metadata.labels)).map(({ metadata }) => metadata.name)).toEqual([]);
  const pods = objects.flatMap(({ spec }) => template.safeParse(spec).data?.template.metadata ?? []);
  expect(pods).toHaveLength(3);
  expect(pods.filter(({ labels }) => lacking(labels))).toEqual([]);
});

test('the Pods of hooks take what a mesh or a quota asks for', async () => {
  const resources = { limits: { cpu: '1', memory: '1Gi' } };
  const hooks = { podAnnotations: { mesh: 'off' }, podLabels: { team: 'edge' }, resources };
  const objects = await render({ ...DATABASE, crds: { keep: false }, hooks });
  const [test] = named(objects, 'Pod');
  const [job] = named(objects, 'Job');
  expect(test?.metadata).toMatchObject({ annotations: { mesh: 'off' }, labels: { team: 'edge' } });
  expect(test?.spec).toMatchObject({ containers: [{ resources }] });
  const metadata = { annotations: { mesh: 'off' }, labels: { team: 'edge' } };
  expect(job?.spec).toMatchObject({ template: { metadata, spec: { containers: [{ resources }] } } });
});

test('no Pod takes variables from the Services that happen to be in the namespace', async () => {
  const objects = await render({ database: { bundled: { enabled: true } }, crds: { keep: false } });
  const podSpec = z.looseObject({ containers: z.array(z.unknown()) });
  const podTemplate = z.object({ template: z.object({ spec: podSpec }) });
  const pods = objects.flatMap(
    ({ spec }) => podSpec.safeParse(spec).data ?? podTemplate.safeParse(spec).data?.template.spec ?? [],
  );
  expect(pods).toHaveLength(5);
  for (const spec of pods) expect(spec).toMatchObject({ enableServiceLinks: false });
});

test('Pods are spread apart from each other, not from those that an upgrade replaces', async () => {
  const deployments = named(await render(DATABASE), 'Deployment');
  expect(deployments).toHaveLength(2);
  for (const { spec } of deployments) {
    const constraints = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
      topologyKey,
      matchLabelKeys: ['pod-template-hash'],
    }));
    expect(spec).toMatchObject({ template: { spec: { topologySpreadConstraints: constraints } } });
  }
});

test('the bundled database has its data in a folder of its own in the volume, whatever its version', async () => {
  const objects = await render({ database: { bundled: { enabled: true, image: 'postgres:17' } } });
  const database = JSON.stringify(named(objects, 'StatefulSet')[0]?.spec);
  expect(database).toContain('"PGDATA","value":"/var/lib/postgresql/pgdata"');
  expect(database).toContain('"mountPath":"/var/lib/postgresql"');
});

test('a Cluster has every commit on a standby before it is acknowledged, unless its spec says otherwise', async () => {
  const settings = async (spec: object) => {
    const [cluster] = named(await render({ database: { cloudNativePG: { enabled: true, spec } } }), 'Cluster');
    return z.object({ postgresql: z.looseObject({ synchronous: z.unknown().optional() }) }).parse(cluster?.spec)
      .postgresql;
  };
  const synchronous = { method: 'any', number: 1, dataDurability: 'required' };
  expect(await settings({})).toMatchObject({ synchronous });
  // Or everything stops with the only standby.
  const preferred = { synchronous: { ...synchronous, dataDurability: 'preferred' } };
  expect(await settings({ instances: 2 })).toMatchObject(preferred);
  const own = { method: 'first', number: 2 };
  expect(await settings({ postgresql: { synchronous: own } })).toMatchObject({ synchronous: own });
  for (const spec of [{ instances: 1 }, { postgresql: { synchronous: null } }, { maxSyncReplicas: 1 }])
    expect(await settings(spec)).not.toHaveProperty('synchronous');
});

test('a database of the chart has as many connections as all replicas of the API may open', async () => {
  const autoscaling = { enabled: true };
  const pool = [{ name: 'DATABASE_POOL_SIZE', value: '50' }];
  const parameters = { max_connections: '400' };
  for (const [api, spec, limit] of [
    [{}, {}, '100'],
    [{ replicaCount: 3 }, {}, '100'],
    [{ replicaCount: 4 }, {}, '200'],
    [{ replicaCount: 6 }, {}, '200'],
    [{ autoscaling }, {}, '200'],
    [{ autoscaling }, { postgresql: null }, '200'],
    [{ autoscaling: { ...autoscaling, maxReplicas: 10 }, extraEnv: pool }, {}, '600'],
    [{ autoscaling }, { postgresql: { parameters } }, '400'],
  ] as const) {
    const [cluster] = named(await render({ api, database: { cloudNativePG: { enabled: true, spec } } }), 'Cluster');
    expect(cluster?.spec).toMatchObject({ postgresql: { parameters: { max_connections: limit } } });
    if (limit === '400') continue;
    const [server] = named(await render({ api, database: { bundled: { enabled: true } } }), 'StatefulSet');
    const containers = [{ args: ['postgres', '-c', `max_connections=${limit}`] }];
    expect(server?.spec).toMatchObject({ template: { spec: { containers } } });
  }
});

test('a parameter that is set to null is left to PostgreSQL', async () => {
  const spec = { postgresql: { parameters: { max_connections: null, work_mem: '8MB' } } };
  const [cluster] = named(await render({ database: { cloudNativePG: { enabled: true, spec } } }), 'Cluster');
  const postgresql = z.object({ postgresql: z.object({ parameters: z.unknown() }) }).parse(cluster?.spec).postgresql;
  expect(postgresql).toEqual({ parameters: { work_mem: '8MB' } });
});

test('every value is described, and every comment about one is understood', async () => {
  const yaml = await readFile(join(CHART, 'values.yaml'), 'utf8');
  const count = (pattern: RegExp) => yaml.match(pattern)?.length;
  const all = readValues(yaml);
  const flat = (values: typeof all): typeof all => values.flatMap((value) => [value, ...flat(value.children ?? [])]);
  const undescribed = flat(all).filter(({ children, description }) => !children && description === undefined);
  expect(undescribed.map(({ path }) => path.join('.'))).toEqual([]);
  expect(flat(all).filter(({ description }) => description !== undefined)).toHaveLength(count(/# -- /g) ?? 0);
  expect(flat(all).filter(({ schema }) => Object.keys(schema).length > 0)).toHaveLength(count(/# @schema /g) ?? 0);
});

test('names that look like numbers stay texts', async () => {
  const name = '123';
  const secret = { existingSecret: name, existingSecretKey: name };
  const account = { serviceAccount: { name } };
  const common = {
    fullnameOverride: name,
    nameOverride: name,
    global: { priorityClassName: name, imagePullSecrets: [{ name }] },
    watchNamespaces: [name],
    crds: { keep: false },
    api: {
      ...account,
      extraEnv: [{ name, value: name }],
      ingress: { enabled: true, className: name, hosts: [name] },
      podLabels: { name },
    },
    operator: { ...account, apiKey: secret, adoptNamespaces: [name], acceptNewOwner: name },
    networkPolicy: { enabled: true },
    tracing: { endpoint: 'http://collector', headers: secret },
    serviceMonitor: { enabled: true, additionalLabels: { name } },
    prometheusRule: { enabled: true },
    grafanaDashboard: { enabled: true, sidecarLabelValue: name },
  };
  const databases = [
    { database: { bundled: { enabled: true, image: name, persistence: { storageClass: name } } } },
    { database: { cloudNativePG: { enabled: true, storage: { storageClass: name } } } },
    { database: secret, secrets: { existingSecret: name } },
  ];
  for (const database of databases) {
    const objects = await render({ ...common, ...database }, { name, namespace: name });
    expect(JSON.stringify(objects)).not.toMatch(/[:[,]123[\],}]/);
  }
});

describe('with the longest name, objects and labels have names that Kubernetes takes, with', () => {
  /** Longer ones make no Pods; all others may have 253 characters. */
  const LIMITS: Record<string, number> = { Service: 63, Job: 63, StatefulSet: 52, Cluster: 50 };
  const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
  const LABEL = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
  // Wherever it is cut, one of the two leaves a hyphen at the end.
  const longest = [`${'a-'.repeat(26)}a`, `a${'b-'.repeat(26)}`.replace(/-$/, 'b')];

  test.each(Object.entries(MATRIX))('%s', async (_, values) => {
    for (const name of longest) {
      const all = { ...values, nameOverride: name, serviceMonitor: { enabled: true } };
      for (const { kind, metadata, spec } of await render(all, { name })) {
        if (kind === 'CustomResourceDefinition') continue;
        const object = `${kind} ${metadata.name}`;
        expect(metadata.name, object).toMatch(NAME);
        expect(metadata.name.length, object).toBeLessThanOrEqual(LIMITS[kind] ?? 253);
        const ofPods = template.safeParse(spec);
        const labels = { ...metadata.labels, ...(ofPods.success && ofPods.data.template.metadata.labels) };
        for (const [key, label] of Object.entries(labels)) expect(label, `${object}: ${key}`).toMatch(LABEL);
      }
    }
  });
});

test('a database has a name that Kubernetes and CloudNativePG take, however long that of the release is', async () => {
  const name = 'a-release-with-the-longest-name-that-helm-takes-for-it';
  for (const [kind, of] of [
    ['StatefulSet', 'bundled'],
    ['Cluster', 'cloudNativePG'],
  ] as const) {
    const objects = await render({ database: { [of]: { enabled: true } } }, { name: name.slice(0, 53) });
    const database = named(objects, kind)[0]?.metadata.name ?? '';
    expect(database).toMatch(/^a-release-.*-database$/);
    expect(database.length).toBeLessThanOrEqual(50);
    expect(JSON.stringify(named(objects, 'Deployment'))).toMatch(new RegExp(`"name":"${database}(-app)?"`));
  }
});
