/** A release of the chart on a cluster with nodes: Pods, access to the API, load and drains. Only for test files. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { z } from 'zod';
import { type Client, createClient } from '../../src/client/client.ts';
import { eventually } from '../e2e/stack.ts';
import { type CommandResult, cluster, kubectl as tryKubectl } from '../harness.ts';
import { CHART, helm } from './helm.ts';

export const MINUTES = 60_000;

const loadResult = z.object({
  requests: z.number(),
  acknowledged: z.number(),
  failures: z.array(z.string()),
  lost: z.array(z.string()),
});

export async function kubectl(...args: string[]): Promise<string> {
  const result = await tryKubectl(args);
  expect(result, args.join(' ')).toMatchObject({ code: 0 });
  return result.stdout.trim();
}

/**
 * @param name of the release
 * @param system the namespace it is in
 * @param image of the program
 */
export async function nodeRelease(name: string, system: string, image: string) {
  const fullname = `${name}-tunnel-operator`;
  const { kubeconfigPath, kubectlPath } = await cluster();

  function release(command: string, args: string[] = [], settings?: object): Promise<CommandResult> {
    const on = ['--kubeconfig', kubeconfigPath, '--namespace', system, '--timeout', '5m'];
    return helm([command, name, ...args, ...on], settings);
  }
  async function deployed(command: 'install' | 'upgrade', settings: object): Promise<void> {
    // Other tests may have applied the definitions already, in another version.
    const args = [CHART, '--wait', '--take-ownership', '--force-conflicts'];
    const result = await release(command, args, settings);
    expect(result, `helm ${command}: ${result.stderr}\n${await state()}`).toMatchObject({ code: 0 });
  }
  /** For the message of a failure. */
  const state = async () => (await tryKubectl(['-n', system, 'get', 'pods,events'])).stdout;

  const pods = async (component: string) => {
    const selector = `app.kubernetes.io/instance=${name},app.kubernetes.io/component=${component}`;
    const names = await kubectl('-n', system, 'get', 'pods', '-l', selector, '-o', 'name');
    return names.split('\n').filter((name) => name !== '');
  };
  const rolledOut = async () => {
    const all = ['deployment', 'statefulset'];
    for (const object of (await kubectl('-n', system, 'get', all.join(','), '-o', 'name')).split('\n'))
      await kubectl('-n', system, 'rollout', 'status', object, '--timeout=180s');
  };

  /** Forwards a port to the API, as users do. */
  async function forwarded<T>(use: (url: string, key: string, client: Client) => Promise<T>): Promise<T> {
    const args = ['--kubeconfig', kubeconfigPath, '-n', system, 'port-forward', `service/${fullname}-api`, ':80'];
    const child = spawn(kubectlPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const [line] = await once(createInterface(child.stdout), 'line');
      const url = /127\.0\.0\.1:\d+/.exec(String(line))?.[0];
      const template = '{{index .data "bootstrap-api-key" | base64decode}}';
      const key = await kubectl('-n', system, 'get', 'secret', fullname, '-o', `go-template=${template}`);
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

  const readyReplicas = async () => {
    const of = async (component: string) => {
      const deployment = ['deployment', `${fullname}-${component}`, '-o', 'jsonpath={.status.readyReplicas}'];
      return Number(await kubectl('-n', system, 'get', ...deployment));
    };
    return { api: await of('api'), operator: await of('operator') };
  };
  /** Drains all nodes as far as possible, so that evicted Pods stay pending; runs `meanwhile`; uncordons the nodes. */
  async function drained(only: string, meanwhile: () => Promise<unknown>): Promise<CommandResult> {
    const nodes = (await kubectl('get', 'nodes', '-o', 'name')).split('\n');
    const args = ['--ignore-daemonsets', '--delete-emptydir-data', '--timeout=20s'];
    try {
      const selector = `app.kubernetes.io/instance=${name},${only}`;
      const result = await tryKubectl(['drain', ...nodes, '--pod-selector', selector, ...args]);
      await meanwhile();
      return result;
    } finally {
      await kubectl('uncordon', ...nodes);
      await rolledOut();
    }
  }

  /** Runs `meanwhile` while clients write through the Service, and returns their results. */
  async function underLoad(meanwhile: () => Promise<unknown>): Promise<z.output<typeof loadResult>> {
    await startLoad(await readFile(join(import.meta.dirname, 'load.mjs'), 'utf8'));
    try {
      await meanwhile();
      await kubectl('-n', system, 'exec', 'load', '--', '/node', '-e', 'process.kill(1, "SIGUSR2")');
      const line = await eventually(async () => {
        const logs = await kubectl('-n', system, 'logs', 'load');
        expect(logs).toContain('{');
        return logs.split('\n').at(-1) ?? '';
      }, 3 * MINUTES);
      return loadResult.parse(JSON.parse(line));
    } finally {
      await kubectl('-n', system, 'delete', 'pod', 'load', '--grace-period=1');
    }
  }

  async function startLoad(script: string): Promise<void> {
    const securityContext = {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    };
    const secretKeyRef = { name: fullname, key: 'bootstrap-api-key' };
    const container = {
      name: 'load',
      image,
      command: ['/node', '--input-type=module', '-e', script],
      env: [
        { name: 'TUNNEL_API_URL', value: `http://${fullname}-api.${system}.svc` },
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

  return { release, deployed, pods, rolledOut, forwarded, readyReplicas, drained, underLoad };
}
