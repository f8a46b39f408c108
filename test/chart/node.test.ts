/**
 * The chart on a cluster with nodes: real Pods of the real image. Needs a cluster (`TEST_KUBECONFIG`) into which the
 * image (`TEST_IMAGE`) and that of PostgreSQL (`TEST_POSTGRES_IMAGE`, default postgres:18) are loaded or can be pulled.
 * `npm run e2e:kind` makes such a cluster.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { kindRows } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { type Client, createClient } from '../../src/client/client.ts';
import { credential, eventually, type Manifest, manifest, ROOT } from '../e2e/stack.ts';
import { type CommandResult, cluster, createNamespace, kubectl as tryKubectl } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { CHART, helm } from './helm.ts';

const { TEST_KUBECONFIG, TEST_IMAGE, TEST_POSTGRES_IMAGE = 'postgres:18' } = process.env;
const NO_NODE = TEST_KUBECONFIG && TEST_IMAGE ? undefined : 'no nodes: TEST_KUBECONFIG and TEST_IMAGE are not set';
/** Without the definitions, other tests fail. */
const exclusively = skipFor(
  process.env.TEST_CLUSTER === 'exclusive'
    ? undefined
    : 'other tests may use the cluster: TEST_CLUSTER is not "exclusive"',
);
const MINUTES = 60_000;
const RELEASE = 'it';
const NAME = 'it-tunnel-operator';

const loadResult = z.object({
  requests: z.number(),
  acknowledged: z.number(),
  failures: z.array(z.string()),
  lost: z.array(z.string()),
});

async function kubectl(...args: string[]): Promise<string> {
  const result = await tryKubectl(args);
  expect(result, args.join(' ')).toMatchObject({ code: 0 });
  return result.stdout.trim();
}

describe('on a real node', { ...skipFor(NO_NODE), timeout: 10 * MINUTES }, async () => {
  if (NO_NODE) return void test('works', () => undefined);
  const [repository, tag = 'latest'] = (TEST_IMAGE ?? '').split(/:(?=[^/:]*$)/);
  const system = await createNamespace('system');
  const namespace = await createNamespace('tenant');
  await kubectl('label', 'namespace', system, 'pod-security.kubernetes.io/enforce=restricted');
  const bundled = { enabled: true, image: TEST_POSTGRES_IMAGE };
  // Other tests have operators of their own in the same cluster.
  const values = { image: { repository, tag }, database: { bundled }, watchNamespaces: [namespace] };
  const { kubeconfigPath, kubectlPath } = await cluster();

  function release(command: string, args: string[] = [], settings?: object, name = RELEASE): Promise<CommandResult> {
    const on = ['--kubeconfig', kubeconfigPath, '--namespace', system, '--timeout', '5m'];
    return helm([command, name, ...args, ...on], settings);
  }
  async function deployed(command: 'install' | 'upgrade', settings: object, name = RELEASE): Promise<void> {
    // The definitions may be there already, from other tests, and of another version.
    const args = [CHART, '--wait', '--take-ownership', '--force-conflicts'];
    const result = await release(command, args, settings, name);
    expect(result, `helm ${command}: ${result.stderr}\n${await state()}`).toMatchObject({ code: 0 });
  }
  /** For the message of a failure. */
  const state = async () => (await tryKubectl(['-n', system, 'get', 'pods,events', '--sort-by=.metadata.name'])).stdout;

  const apply = async (...items: object[]) => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    expect(await tryKubectl(['-n', namespace, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0, stderr: '' });
  };
  const ready = (...objects: string[]) =>
    kubectl('-n', namespace, 'wait', '--for=condition=Ready', '--timeout=120s', ...objects);
  const pods = async (component: string) => {
    const selector = `app.kubernetes.io/instance=${RELEASE},app.kubernetes.io/component=${component}`;
    const names = await kubectl('-n', system, 'get', 'pods', '-l', selector, '-o', 'name');
    return names.split('\n').filter((name) => name !== '');
  };
  const rolledOut = async () => {
    const all = ['deployment', 'statefulset'];
    for (const object of (await kubectl('-n', system, 'get', all.join(','), '-o', 'name')).split('\n'))
      await kubectl('-n', system, 'rollout', 'status', object, '--timeout=180s');
  };

  /** A way to the API, as users have it. */
  async function forwarded<T>(use: (url: string, key: string, client: Client) => Promise<T>): Promise<T> {
    const args = ['--kubeconfig', kubeconfigPath, '-n', system, 'port-forward', `service/${NAME}-api`, ':80'];
    const child = spawn(kubectlPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const [line] = await once(createInterface(child.stdout), 'line');
      const url = /127\.0\.0\.1:\d+/.exec(String(line))?.[0];
      const template = '{{index .data "bootstrap-api-key" | base64decode}}';
      const key = await kubectl('-n', system, 'get', 'secret', NAME, '-o', `go-template=${template}`);
      const client = createClient({ baseUrl: `http://${url}`, apiKey: key });
      try {
        return await use(`http://${url}`, key, client);
      } finally {
        await client.close();
      }
    } finally {
      child.kill();
    }
  }

  beforeAll(async () => deployed('install', values), 6 * MINUTES);
  afterAll(async () => {
    await tryKubectl(['-n', namespace, 'delete', 'tunnels', '--all', '--timeout=120s']);
    await release('uninstall', ['--wait']);
    await tryKubectl(['-n', system, 'delete', 'pvc', '--all', '--wait=false']);
  }, 6 * MINUTES);

  test('helm test finds that a token authenticates', async () => {
    const result = await release('test');
    expect(result, result.stdout).toMatchObject({ code: 0 });
  });

  test('everything of the examples becomes ready', async () => {
    await kubectl('-n', namespace, 'apply', '-f', `${ROOT}examples`);
    await ready('tunnels', '--all');
    await kubectl('-n', namespace, 'delete', 'tunnels', '--all', '--timeout=120s');
  });

  test('every kind is created, changed and deleted', async () => {
    await forwarded(async (url, key, client) => {
      for (const [number, row] of kindRows.entries()) {
        const { another, changed } = await row.declare(postTo(url, key), number);
        const object = row.type.plural;
        const declare = (spec: object): Manifest => manifest(row, object, spec);
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

  test('an API runs on a database of the user', async () => {
    const template = '{{.data.url | base64decode}}';
    const url = await kubectl('-n', system, 'get', 'secret', `${NAME}-database`, '-o', `go-template=${template}`);
    const api = { image: { repository, tag }, operator: { enabled: false }, secrets: { existingSecret: NAME } };
    const settings = { ...api, database: { url }, crds: { enabled: false }, rbac: { aggregateClusterRoles: false } };
    await deployed('install', settings, 'second');
    expect(await release('uninstall', ['--wait'], undefined, 'second')).toMatchObject({ code: 0 });
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

  test('the database finds its volume again', async () => {
    const database = ['-n', system, 'scale', 'statefulset', `${NAME}-database`];
    await kubectl(...database, '--replicas=0');
    await kubectl('-n', system, 'wait', '--for=delete', `pod/${NAME}-database-0`, '--timeout=120s');
    await kubectl(...database, '--replicas=1');
    await rolledOut();
  });

  test('an upgrade under load fails no request and loses no acknowledged write', async () => {
    await deployed('upgrade', { ...values, api: { replicaCount: 3 } });
    const script = await readFile(join(import.meta.dirname, 'load.mjs'), 'utf8');
    await startLoad(script);
    await apply(credential('before'));
    // Another setting replaces every Pod of both.
    const extraEnv = [{ name: 'REQUEST_TIMEOUT', value: '29s' }];
    const api = { replicaCount: 3, extraEnv };
    await deployed('upgrade', { ...values, api, operator: { extraEnv: [{ name: 'KUBE_TIMEOUT', value: '29s' }] } });
    await apply(credential('after'));
    await ready('tcred/before', 'tcred/after');
    await kubectl('-n', system, 'exec', 'load', '--', '/node', '-e', 'process.kill(1, "SIGUSR2")');
    const line = await eventually(async () => {
      const logs = await kubectl('-n', system, 'logs', 'load');
      expect(logs).toContain('{');
      return logs.split('\n').at(-1) ?? '';
    }, 3 * MINUTES);
    const result = loadResult.parse(JSON.parse(line));
    expect(result).toMatchObject({ failures: [], lost: [] });
    expect(result.acknowledged).toBeGreaterThan(100);
    await kubectl('-n', namespace, 'delete', 'tcred', '--all', '--timeout=120s');
  });

  test('an uninstall that takes the definitions leaves no object stuck', exclusively, async () => {
    await deployed('upgrade', { ...values, crds: { keep: false } });
    await kubectl('-n', namespace, 'apply', '-f', `${ROOT}examples`);
    await ready('tunnels', '--all');
    expect(await release('uninstall', ['--wait'])).toMatchObject({ code: 0 });
    expect(await kubectl('get', 'crd', '-o', 'name')).not.toContain('tunnel-operator.dev');
  });

  async function startLoad(script: string): Promise<void> {
    const securityContext = {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    };
    const secretKeyRef = { name: NAME, key: 'bootstrap-api-key' };
    const container = {
      name: 'load',
      image: TEST_IMAGE,
      command: ['/node', '--input-type=module', '-e', script],
      env: [
        { name: 'TUNNEL_API_URL', value: `http://${NAME}-api.${system}.svc` },
        { name: 'TUNNEL_API_KEY', valueFrom: { secretKeyRef } },
      ],
      securityContext,
    };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'load' },
      spec: { restartPolicy: 'Never', containers: [container] },
    };
    const input = JSON.stringify(pod);
    expect(await tryKubectl(['-n', system, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
    await kubectl('-n', system, 'wait', '--for=condition=Ready', '--timeout=60s', 'pod/load');
    await eventually(async () => expect(await kubectl('-n', system, 'logs', 'load')).toContain('started'));
  }
});
