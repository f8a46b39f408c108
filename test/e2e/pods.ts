/**
 * With `TEST_PODS`, API and operators of a stack run in Pods of the chart. Each stack installs API and database as one
 * release, and each operator as another, with the settings that it would have in the process of the tests. This
 * needs a cluster with nodes (`TEST_KUBECONFIG`) that have the images loaded. Only for test files.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, TestRunner, vi } from 'vitest';
import type { TunnelOperator } from '../../src/operator/operator.ts';
import { type OperatorConfig, operatorSettings } from '../../src/operator/settings.ts';
import { atEnd } from '../end-of-file.ts';
import { cluster, createNamespace, kubectl } from '../harness.ts';

const { TEST_IMAGE, TEST_POSTGRES_IMAGE = 'postgres:18' } = process.env;

/** Settings that come from the chart or the Pod, so that a test cannot set them as environment variables. */
const GIVEN = {
  apiUrl: 'the chart',
  apiKey: 'the chart',
  namespaces: 'the chart',
  acceptNewOwner: 'the chart',
  clusterId: 'the chart',
  takeOverFrom: 'the chart',
  adoptNamespaces: 'the chart',
  shutdownMs: 'the chart',
  kubeconfig: 'its Pod',
  identity: 'its Pod',
  leaseNamespace: 'its Pod',
  host: 'its Pod',
  port: 'its Pod',
} as const satisfies Partial<Record<keyof typeof operatorSettings, string>>;

const isGiven = (key: string): key is keyof typeof GIVEN => key in GIVEN;

/** An operator in this process or in a Pod. */
export type RunningOperator = Pick<TunnelOperator, 'healthUrl' | 'lostLead' | 'stop'>;

export interface ApiPods {
  /** Reaches the API from this machine. */
  url: string;
  /** Reaches its metrics from this machine. */
  metricsUrl: string;
  /** Reaches its database from this machine. */
  databaseUrl: string;
  stop(): Promise<void>;
}

/** For each API, the URL that reaches it from Pods, by the URL that reaches it from this machine. */
const inCluster = new Map<string, string>();

/** Skips the running test, which does not work in Pods. @param what the reason */
export function notInPods(what: string): never {
  const test = TestRunner.getCurrentTest();
  const reason = `not in Pods: ${what}`;
  if (test === undefined) throw new Error(reason);
  return test.context.skip(reason);
}

async function run(...args: string[]): Promise<string> {
  const result = await kubectl(args);
  expect(result, args.join(' ')).toMatchObject({ code: 0 });
  return result.stdout.trim();
}

/**
 * Creates a namespace for the releases of a stack.
 * @param lines receives what the containers log
 * @param keys the API's keys
 */
export async function podsFor(lines: { api: string[]; operator: string[] }, keys: Record<string, string>) {
  const { CHART, helm } = await import('../chart/helm.ts');
  const { kubeconfigPath, kubectlPath } = await cluster();
  const system = await createNamespace('system');
  await run('label', 'namespace', system, 'pod-security.kubernetes.io/enforce=restricted');
  const [repository, tag = 'latest'] = (TEST_IMAGE ?? '').split(/:(?=[^/:]*$)/);
  const common = {
    image: { repository, tag },
    crds: { enabled: false },
    rbac: { aggregateClusterRoles: false },
    global: { logLevel: 'trace' },
  };
  const children = new Set<ChildProcess>();
  const killAll = () => {
    for (const child of children) child.kill();
  };
  atEnd(async () => killAll());
  // The hook does not run in a file whose tests are all skipped.
  process.once('exit', killAll);
  let releases = 0;

  async function release(args: string[], values?: object): Promise<void> {
    const on = ['--kubeconfig', kubeconfigPath, '--namespace', system, '--timeout', '2m'];
    const result = await helm([...args, ...on], values);
    const pods = result.code === 0 ? '' : await run('-n', system, 'get', 'pods,events');
    expect(result, `helm ${args[0]}: ${result.stderr}\n${pods}`).toMatchObject({ code: 0 });
  }

  function follow(args: string[]) {
    const on = ['--kubeconfig', kubeconfigPath, '--namespace', system];
    const child = spawn(kubectlPath, [...on, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
    children.add(child);
    const output = createInterface(child.stdout);
    const end = () => {
      children.delete(child);
      child.kill();
    };
    return { output, end };
  }

  /** Forwards a port of a Pod or Service to this machine. */
  async function forward(object: string, port: number) {
    const { output, end } = follow(['port-forward', object, `:${port}`]);
    const [line] = await once(output, 'line');
    // The lines about connections are of no use, but must be read.
    output.on('line', () => undefined);
    return { address: String(/127\.0\.0\.1:\d+/.exec(String(line))?.[0]), end };
  }

  function log(name: string, component: 'api' | 'operator') {
    const selector = `app.kubernetes.io/instance=${name},app.kubernetes.io/component=${component}`;
    const { output, end } = follow(['logs', '--follow', '--selector', selector, '--container', component, '--tail=-1']);
    output.on('line', (line) => lines[component].push(line));
    return end;
  }

  async function keep(name: string, stringData: Record<string, string>): Promise<void> {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData });
    expect(await kubectl(['-n', system, 'apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
  }

  async function startApi(): Promise<ApiPods> {
    const name = 'api';
    const fullname = `${name}-tunnel-operator`;
    await keep('keys', keys);
    const ownUrl = `http://${fullname}-api.${system}.svc`;
    await release(['install', name, CHART, '--wait'], {
      ...common,
      secrets: { existingSecret: 'keys' },
      operator: { enabled: false },
      // Tests compare the links in what they read with those in what the operator has read.
      api: { baseUrl: ownUrl },
      database: { bundled: { enabled: true, image: TEST_POSTGRES_IMAGE, persistence: { enabled: false } } },
    });
    log(name, 'api');
    const api = await forward(`service/${fullname}-api`, 80);
    const metrics = await forward(`deployment/${fullname}-api`, 8081);
    const database = await forward(`service/${fullname}-database`, 5432);
    const template = 'go-template={{.data.url | base64decode}}';
    const databaseUrl = new URL(await run('-n', system, 'get', 'secret', `${fullname}-database`, '-o', template));
    databaseUrl.host = database.address;
    const url = `http://${api.address}`;
    inCluster.set(url, ownUrl);
    return {
      url,
      metricsUrl: `http://${metrics.address}/metrics`,
      databaseUrl: databaseUrl.href,
      stop: () => release(['uninstall', name, '--wait']),
    };
  }

  async function startOperator(usual: OperatorConfig, changed: Partial<OperatorConfig>): Promise<RunningOperator> {
    for (const key of Object.keys(changed)) {
      if (isGiven(key) && GIVEN[key] === 'its Pod') notInPods(`${operatorSettings[key].env} is set by the Pod`);
    }
    const config = { ...usual, ...changed };
    const name = `op-${++releases}`;
    await keep(`${name}-key`, { 'api-key': config.apiKey });
    const env = Object.entries(config).filter(([key, value]) => !isGiven(key) && value !== undefined);
    await release(['install', name, CHART], {
      ...common,
      watchNamespaces: config.namespaces ?? [],
      api: { enabled: false },
      operator: {
        replicaCount: 1,
        apiUrl: inCluster.get(config.apiUrl) ?? config.apiUrl,
        apiKey: { existingSecret: `${name}-key` },
        acceptNewOwner: config.acceptNewOwner ?? '',
        clusterId: config.clusterId ?? '',
        takeOverFrom: config.takeOverFrom ?? [],
        adoptNamespaces: config.adoptNamespaces ?? [],
        extraEnv: env.map(([key, value]) => ({
          name: operatorSettings[asSetting(key)].env,
          value: written(key, value),
        })),
      },
    });
    // Hides this release from the chart, which refuses a second operator on the same objects. Some tests start one.
    for (const namespace of [system, ...(config.namespaces ?? [])]) {
      const bindings = ['rolebindings', '--selector', `app.kubernetes.io/instance=${name}`];
      await run('-n', namespace, 'label', ...bindings, 'app.kubernetes.io/component-');
    }
    const pods = ['pods', '--selector', `app.kubernetes.io/instance=${name}`];
    // Waits for the start only: an operator whose API key is refused never becomes ready.
    const started = '--for=jsonpath={.status.containerStatuses[0].started}=true';
    await vi.waitFor(() => run('-n', system, 'wait', started, ...pods, '--timeout=30s'), 60_000);
    const endLog = log(name, 'operator');
    const health = await forward(`deployment/${name}-tunnel-operator-operator`, 8081);
    return {
      healthUrl: `http://${health.address}`,
      // Never: Kubernetes restarts its container.
      lostLead: new Promise(() => {}),
      async stop() {
        // Stops the Pod first, since it needs its permissions until it has ended.
        await run('-n', system, 'scale', 'deployment', `${name}-tunnel-operator-operator`, '--replicas=0');
        await run('-n', system, 'wait', '--for=delete', ...pods, '--timeout=60s');
        await release(['uninstall', name, '--wait']);
        health.end();
        endLog();
      },
    };
  }

  return { startApi, startOperator };
}

function asSetting(key: string): keyof typeof operatorSettings {
  const found = Object.keys(operatorSettings).find((each): each is keyof typeof operatorSettings => each === key);
  if (found === undefined) throw new Error(`${key} is no setting`);
  return found;
}

/** The value of an environment variable. Durations have minimums there, and some tests go below them. */
function written(key: string, value: unknown): string {
  return key.endsWith('Ms') ? `${Math.max(Number(value), 1_000)}ms` : String(value);
}
