/** Helm and the API server accept what the chart renders, over a matrix of values. */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { crdYaml } from '../../src/operator/crds/crd.ts';
import { customResources } from '../../src/operator/crds/custom-resources.ts';
import { createNamespace, kubectl } from '../harness.ts';
import { CHART, DATABASE, helm, named, type Rendered, render } from './helm.ts';
import { MATRIX } from './matrix.ts';

/** Kinds of other projects, whose CustomResourceDefinitions the test cluster lacks. */
const FOREIGN = ['Cluster', 'HTTPRoute', 'PodMonitor', 'PrometheusRule', 'ServiceMonitor'];

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

  test('the API server accepts every object without a warning', async () => {
    const objects = await render(values, { namespace });
    const known = objects.filter(({ kind }) => !FOREIGN.includes(kind) && kind !== 'CustomResourceDefinition');
    const list = (items: readonly Rendered[]) => ({ input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
    // Pods are rejected without their service account.
    expect(await kubectl(['apply', '-f', '-'], list(named(known, 'ServiceAccount')))).toMatchObject({ code: 0 });
    const dryRun = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict', '-f', '-'];
    expect(await kubectl(dryRun, list(known))).toMatchObject({ code: 0, stderr: '' });
  });
});

test('objects of other projects are rendered if they are enabled', async () => {
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
  // A Cluster may have only one bootstrap method.
  const request = { name: 'tunnel_operator_request', ensure: 'present', login: false };
  const member = { name: 'tunnel_operator', ensure: 'present', login: true, inRoles: [request.name] };
  expect(named(recovered, 'Cluster')[0]?.spec).toEqual({
    ...{ instances: 3, storage, postgresql, bootstrap: { recovery } },
    managed: { roles: [request, member] },
  });
  expect(named(objects, 'HTTPRoute')).toMatchObject([
    { spec: { parentRefs: [{ name: 'gateway' }], rules: [{ backendRefs: [{ name: 'it-other-api', port: 8080 }] }] } },
  ]);
  expect(named(objects, 'ServiceMonitor')).toHaveLength(3);
  const [rule] = named(objects, 'PrometheusRule');
  const runbooks = [...JSON.stringify(rule).matchAll(/"runbook_url":"[^"]*#(\w+)"/g)].map(([, name]) => name);
  const page = await readFile(join(CHART, '../../docs/runbooks.md'), 'utf8');
  const explained = [...page.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name.toLowerCase());
  expect(runbooks).toEqual(explained);
});

describe('the chart refuses, with a reason:', () => {
  test.each<[string, object, RegExp]>([
    ['no database', {}, /The API needs a database: set exactly one of/],
    ['two databases', { database: { ...DATABASE.database, bundled: { enabled: true } } }, /exactly one of/],
    [
      'a worker without the API',
      {
        api: { enabled: false },
        worker: { enabled: true },
        operator: { apiUrl: 'https://api.example.com', apiKey: { existingSecret: 'key' } },
      },
      /worker\.enabled needs api\.enabled/,
    ],
    ['neither an API nor its URL', { api: { enabled: false } }, /the operator needs operator\.apiUrl/],
    [
      'no operator to delete the objects',
      { ...DATABASE, operator: { enabled: false }, crds: { keep: false } },
      /crds\.keep/,
    ],
    [
      'a key for the operator that it would not use',
      { ...DATABASE, operator: { apiKey: { admin: false, existingSecret: 'key' } } },
      /operator\.apiKey\.admin=false makes a key that the operator would not use/,
    ],
    ['an Ingress without a host', { ...DATABASE, api: { ingress: { enabled: true } } }, /api\.ingress\.hosts/],
    [
      "the namespace's own account for the operator",
      { ...DATABASE, operator: { serviceAccount: { create: false } } },
      /operator\.serviceAccount\.create=false needs operator\.serviceAccount\.name/,
    ],
    [
      'namespaces both by name and by label',
      { ...DATABASE, watchNamespaces: ['a'], watchNamespaceSelector: 'team=a' },
      /set watchNamespaces or watchNamespaceSelector, not both/,
    ],
    ['a misspelt value', { ...DATABASE, watchNamespace: ['a'] }, /additional properties 'watchNamespace' not allowed/],
    ['a value of the wrong type', { ...DATABASE, watchNamespaces: 'a' }, /got string, want array/],
    ['a URL of another database system', { database: { url: 'mysql://x' } }, /does not match pattern/],
  ])('%s', async (_, values, reason) => {
    const { code, stderr } = await helm(['template', 'it', CHART], values);
    expect(stderr).toMatch(reason);
    expect(code).not.toBe(0);
  });

  test('a Kubernetes older than those that the CustomResourceDefinitions were applied to', async () => {
    const on = (version: string) => helm(['template', 'it', CHART, '--kube-version', version], DATABASE);
    expect(await on('1.31.9')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('requires kubeVersion: >=1.32'),
    });
    expect(await on('1.32.0')).toMatchObject({ code: 0, stderr: '' });
  });
});

test('another chart may depend on this one, with a condition, and share global values with it', async () => {
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
  expect(specs.size).toBe(customResources.length);
  for (const kind of customResources) {
    const { metadata, spec } = parse(crdYaml(kind));
    expect(specs.get(metadata.name)).toEqual(spec);
  }
  const kept = objects.map(({ metadata }) => metadata.annotations['helm.sh/resource-policy']);
  expect(new Set(kept)).toEqual(new Set(['keep']));
  const going = named(await render({ ...DATABASE, crds: { keep: false } }), 'CustomResourceDefinition');
  expect(going.filter(({ metadata }) => 'helm.sh/resource-policy' in metadata.annotations)).toEqual([]);
});

test('watching namespaces by their labels needs the right to see them', async () => {
  const objects = await render({ ...DATABASE, watchNamespaceSelector: 'team in (shop, bank)' });
  const role = objects.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name.endsWith('-operator'));
  const rule = { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] };
  expect(role).toMatchObject({ rules: expect.arrayContaining([rule]) });
  expect(JSON.stringify(objects)).toContain('{"name":"WATCH_NAMESPACE_SELECTOR","value":"team in (shop, bank)"}');
});

test('watching only some namespaces needs no cluster-wide right', async () => {
  const objects = await render({ ...DATABASE, watchNamespaces: ['a', 'b'], rbac: { aggregateClusterRoles: false } });
  expect(objects.filter(({ kind }) => kind.startsWith('ClusterRole'))).toEqual([]);
  const roles = named(objects, 'Role').filter(({ metadata }) => metadata.name.endsWith('-it-tunnel-operator-operator'));
  expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(['a', 'b']);
});

test('the operator may read the UID of its cluster, unless it is given an id', async () => {
  const inSystem = async (operator: object) =>
    named(await render({ ...DATABASE, watchNamespaces: ['a'], operator }), 'Role').filter(
      ({ metadata }) => metadata.namespace === 'kube-system',
    );
  const rules = [{ apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] }];
  expect(await inSystem({})).toMatchObject([{ rules }]);
  expect(await inSystem({ clusterId: 'prod.eu' })).toEqual([]);
});

test("editors of a namespace may edit every kind but API keys and accounts, which could grant the operator's rights", async () => {
  const objects = await render(DATABASE, { only: ['user-roles.yaml'] });
  const edit = objects.find(({ metadata }) => metadata.name.endsWith('-edit'));
  const others = ['apikeys', 'accounts'];
  const theirs = customResources.filter(({ plural, isClusterScoped }) => !others.includes(plural) && !isClusterScoped);
  const plurals = theirs.map(({ plural }) => plural);
  expect(edit).toMatchObject({ rules: [{ resources: plurals }] });
});

test('the bundled database of any version keeps its data in a subfolder of the volume', async () => {
  const objects = await render({ database: { bundled: { enabled: true, image: 'postgres:17' } } });
  const database = JSON.stringify(named(objects, 'StatefulSet')[0]?.spec);
  expect(database).toContain('"PGDATA","value":"/var/lib/postgresql/pgdata"');
  expect(database).toContain('"mountPath":"/var/lib/postgresql"');
});

test('a Cluster acknowledges a commit only once a standby has it, unless its spec says otherwise', async () => {
  const settings = async (spec: object) => {
    const [cluster] = named(await render({ database: { cloudNativePG: { enabled: true, spec } } }), 'Cluster');
    return z.object({ postgresql: z.looseObject({ synchronous: z.unknown().optional() }) }).parse(cluster?.spec)
      .postgresql;
  };
  const synchronous = { method: 'any', number: 1, dataDurability: 'required' };
  expect(await settings({})).toMatchObject({ synchronous });
  // Otherwise, writes would stop with the only standby.
  const preferred = { synchronous: { ...synchronous, dataDurability: 'preferred' } };
  expect(await settings({ instances: 2 })).toMatchObject(preferred);
  const own = { method: 'first', number: 2 };
  expect(await settings({ postgresql: { synchronous: own } })).toMatchObject({ synchronous: own });
  for (const spec of [{ instances: 1 }, { postgresql: { synchronous: null } }, { maxSyncReplicas: 1 }])
    expect(await settings(spec)).not.toHaveProperty('synchronous');
});

test("the chart's database allows as many connections as all replicas of the API and the worker may open", async () => {
  const autoscaling = { enabled: true };
  const pool = [{ name: 'DATABASE_POOL_SIZE', value: '50' }];
  const parameters = { max_connections: '400' };
  const worker = (replicaCount: number, extraEnv: object[] = []) => ({ enabled: true, replicaCount, extraEnv });
  for (const [api, spec, limit, more = {}] of [
    [{ replicaCount: 3 }, {}, '100'],
    [{ replicaCount: 2 }, {}, '200', worker(2)],
    [{ replicaCount: 2 }, {}, '300', worker(3, pool)],
    [{ replicaCount: 4 }, {}, '200'],
    [{ autoscaling }, { postgresql: null }, '200'],
    [{ autoscaling: { ...autoscaling, maxReplicas: 10 }, extraEnv: pool }, {}, '600'],
    [{ autoscaling }, { postgresql: { parameters } }, '400'],
  ] as const) {
    const [cluster] = named(
      await render({ api, worker: more, database: { cloudNativePG: { enabled: true, spec } } }),
      'Cluster',
    );
    expect(cluster?.spec).toMatchObject({ postgresql: { parameters: { max_connections: limit } } });
    if (limit === '400') continue;
    const [server] = named(
      await render({ api, worker: more, database: { bundled: { enabled: true } } }),
      'StatefulSet',
    );
    const containers = [{ args: ['postgres', '-c', `max_connections=${limit}`] }];
    expect(server?.spec).toMatchObject({ template: { spec: { containers } } });
  }
});

describe('Kubernetes accepts the names and labels of a release with the longest name and', () => {
  /** With longer names, no Pods are created; objects of other kinds may have 253 characters. */
  const LIMITS: Record<string, number> = { Service: 63, Job: 63, StatefulSet: 52, Cluster: 50 };
  const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
  const LABEL = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
  // Wherever the names are cut, one of the two ends in a hyphen.
  const longest = [`${'a-'.repeat(26)}a`, `a${'b-'.repeat(26)}`.replace(/-$/, 'b')];

  test.each(['the bundled database', 'CloudNativePG', 'everything'])('%s', async (which) => {
    const values = MATRIX[which];
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
