/**
 * API and operators of a stack in Pods of the chart, with `TEST_PODS`: each stack installs the API and a database as one
 * release, and each operator as another, with the settings that it would otherwise have in the process of the tests.
 * Needs a cluster with nodes (`TEST_KUBECONFIG`), into which the images are loaded. Only for test files.
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

/** What the chart or the Pod decides, not an environment variable that a test could set. */
const GIVEN = {
  apiUrl: 'the chart',
  apiKey: 'the chart',
  namespaces: 'the chart',
  acceptNewOwner: 'the chart',
  adoptNamespaces: 'the chart',
  shutdownMs: 'the chart',
  kubeconfig: 'its Pod',
  identity: 'its Pod',
  leaseNamespace: 'its Pod',
  host: 'its Pod',
  port: 'its Pod',
} as const satisfies Partial<Record<keyof OperatorConfig, string>>;

const isGiven = (key: string): key is keyof typeof GIVEN => key in GIVEN;

/** An operator of this process, or one in a Pod. */
export type RunningOperator = Pick<TunnelOperator, 'healthUrl' | 'lostLead' | 'stop'>;

export interface ApiPods {
  /** Reaches the API from here. */
  url: string;
  /** Where its metrics are, from here. */
  metricsUrl: string;
  /** Reaches its database from here. */
  databaseUrl: string;
  stop(): Promise<void>;
}

/** The API by the address that it has here, and by the one that it has for Pods. */
const inCluster = new Map<string, string>();

/** Skips the test that runs: it needs a process of its own. */
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
 * A namespace with the releases of a stack.
 * @param lines receive what the containers log
 * @param keys of the API
 */
export async function podsFor(lines: { api: string[]; operator: string[] }, keys: Record<string, string>) {
  // It needs a program that only this needs.
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
  // A file whose tests are all skipped has no end that hooks hear of.
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

  /** Where a port of a Pod or Service is on this machine. */
  async function forward(object: string, port: number) {
    const { output, end } = follow(['port-forward', object, `:${port}`]);
    const [line] = await once(output, 'line');
    // What it says of each connection is nobody's business, but must be read.
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
      // The tests compare the links of what they read with those that the operator has read.
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
      if (isGiven(key) && GIVEN[key] === 'its Pod') notInPods(`${operatorSettings[key].env} is what the Pod says`);
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
        adoptNamespaces: config.adoptNamespaces ?? [],
        extraEnv: env.map(([key, value]) => ({
          name: operatorSettings[asSetting(key)].env,
          value: written(key, value),
        })),
      },
    });
    // Some tests start a second one for the same objects, which the chart would refuse beside this one.
    for (const namespace of [system, ...(config.namespaces ?? [])]) {
      const bindings = ['rolebindings', '--selector', `app.kubernetes.io/instance=${name}`];
      await run('-n', namespace, 'label', ...bindings, 'app.kubernetes.io/component-');
    }
    const pods = ['pods', '--selector', `app.kubernetes.io/instance=${name}`];
    // Not until it is ready: one whose API key is refused never is.
    const started = '--for=jsonpath={.status.containerStatuses[0].started}=true';
    await vi.waitFor(() => run('-n', system, 'wait', started, ...pods, '--timeout=30s'), 60_000);
    const endLog = log(name, 'operator');
    const health = await forward(`deployment/${name}-tunnel-operator-operator`, 8081);
    return {
      healthUrl: `http://${health.address}`,
      // Its Pod is started again.
      lostLead: new Promise(() => {}),
      async stop() {
        // Not at once with its rights, which it needs until its Pod has ended.
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

function asSetting(key: string): keyof OperatorConfig {
  const found = Object.keys(operatorSettings).find((each): each is keyof OperatorConfig => each === key);
  if (found === undefined) throw new Error(`${key} is no setting`);
  return found;
}

/** As an environment variable. What a program takes from its environment has limits that tests go below. */
function written(key: string, value: unknown): string {
  return key.endsWith('Ms') ? `${Math.max(Number(value), 1_000)}ms` : String(value);
}
