/** What the operator bench runs on: a control plane, PostgreSQL, the API and the operator, each in its own process. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { startControlPlane } from '../dev/control-plane/control-plane.ts';
import { startPostgres } from '../dev/database/postgres.ts';
import type { Child } from '../dev/processes/child-process.ts';
import { startProgram, untilAnswering } from '../dev/processes/program.ts';
import { KubeApi, type ResourceType } from '../src/operator/kube/kube-api.ts';
import { freePort } from '../src/postgres/ports.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..');

export const API_KEY = 'tnl_ak_benchbenchbenchbenchbenchbenchbenchbench';

export interface Stack {
  apiUrl: string;
  kubeconfigPath: string;
  kube: KubeApi;
  /** Deletes all objects of a type in one request, without waiting until they are gone. */
  deleteAll(type: ResourceType, namespace: string): Promise<void>;
  /** Starts the operator on one namespace; `url` is where its metrics are. */
  startOperator(namespace: string, env?: Record<string, string>): Promise<{ child: Child; url: string }>;
  stop(): Promise<void>;
}

/** The checkout whose API and operator run. */
export interface Side {
  readonly root: string;
  /** What `build` returned, if the checkout is built already. */
  readonly main?: string;
}

export async function startStack(side: Side = { root: ROOT }): Promise<Stack> {
  const { root } = side;
  const undo: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (let step = undo.pop(); step; step = undo.pop()) await step();
  };
  try {
    const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-bench-'));
    undo.push(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
    const [controlPlane, postgres] = await Promise.all([
      startControlPlane({ controllerManager: false }),
      startPostgres(),
    ]);
    undo.push(() => Promise.all([controlPlane.stop(), postgres.stop()]));

    const apiPort = await freePort();
    const apiUrl = `http://127.0.0.1:${apiPort}`;
    const env = {
      NODE_ENV: 'production',
      DATABASE_URL: postgres.url,
      PORT: String(apiPort),
      BOOTSTRAP_API_KEY: API_KEY,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      LOG_LEVEL: 'warn',
    };
    const main = side.main ?? (await build(root, join(folder, 'package')));
    const api = startProgram(['api'], { name: 'api', folder, env, main });
    undo.push(() => api.stop());
    await untilAnswering(api, `${apiUrl}/readyz`);

    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromString(controlPlane.kubeconfig);
    const kube = new KubeApi(kubeConfig, { userAgent: 'bench', timeoutMs: 60_000 });
    undo.push(() => kube.close());

    const { kubeconfigPath, kubectlPath } = controlPlane;
    // The deletion of a collection answers with all of it.
    const options = { maxBuffer: 256 * 1024 ** 2 };
    const kubectl = (...args: string[]) => run(kubectlPath, ['--kubeconfig', kubeconfigPath, ...args], options);
    // A pattern for kubectl: the folder also has a file for kustomize.
    const crds = join(root, 'crds', 'tunnel-operator.dev_*.yaml');
    await kubectl('apply', '--server-side', '-f', crds);
    await kubectl('wait', '--for=condition=Established', '-f', crds);
    let started = 0;
    const startOperator: Stack['startOperator'] = async (namespace, more = {}) => {
      const port = await freePort();
      const settings = {
        NODE_ENV: 'production',
        KUBECONFIG: controlPlane.kubeconfigPath,
        TUNNEL_API_URL: apiUrl,
        TUNNEL_API_KEY: API_KEY,
        WATCH_NAMESPACE: namespace,
        LEADER_ELECT: 'false',
        METRICS_HOST: '127.0.0.1',
        METRICS_PORT: String(port),
        LOG_LEVEL: 'warn',
        LOG_FORMAT: 'json',
        ...more,
      };
      const child = startProgram(['operator'], { name: `operator-${started++}`, folder, env: settings, main });
      undo.push(() => child.stop());
      const url = `http://127.0.0.1:${port}`;
      return { child, url };
    };
    const deleteAll: Stack['deleteAll'] = async ({ group, version, plural }, namespace) => {
      const request = () => kubectl('delete', '--raw', `/apis/${group}/${version}/namespaces/${namespace}/${plural}`);
      // The API server ends a request after a minute, with some objects still to be deleted.
      await request().catch(request);
    };
    return { apiUrl, kubeconfigPath, kube, deleteAll, startOperator, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Builds what `npm pack` would contain, next to the dependencies of the checkout; returns the file to run. */
export async function build(root: string, folder: string): Promise<string> {
  await mkdir(folder);
  await run(process.execPath, [join(root, 'scripts/build.ts'), join(folder, 'dist')]);
  await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'dist/main.js');
}
