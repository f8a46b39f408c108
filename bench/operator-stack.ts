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
import { KubeApi } from '../src/operator/kube/kube-api.ts';
import { freePort } from '../src/postgres/ports.ts';

const ROOT = join(import.meta.dirname, '..');

export const API_KEY = 'tnl_ak_benchbenchbenchbenchbenchbenchbenchbench';

export interface Stack {
  apiUrl: string;
  kubeconfigPath: string;
  kubectl: string;
  kube: KubeApi;
  /** Starts the operator on one namespace; `url` is where its metrics are. */
  startOperator(namespace: string, env?: Record<string, string>): Promise<{ child: Child; url: string }>;
  stop(): Promise<void>;
}

/** @param options.isBuilt the operator runs as in the package, not from its sources, which takes more memory */
export async function startStack({ isBuilt = false } = {}): Promise<Stack> {
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
    const api = startProgram(['api'], { name: 'api', folder, env });
    undo.push(() => api.stop());
    await untilAnswering(api, `${apiUrl}/readyz`);

    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromString(controlPlane.kubeconfig);
    const kube = new KubeApi(kubeConfig, { userAgent: 'bench', timeoutMs: 60_000 });
    undo.push(() => kube.close());

    const main = isBuilt ? { main: await build(join(folder, 'package')) } : {};
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
      const child = startProgram(['operator'], { name: `operator-${started++}`, folder, env: settings, ...main });
      undo.push(() => child.stop());
      const url = `http://127.0.0.1:${port}`;
      return { child, url };
    };
    const { kubeconfigPath, kubectlPath: kubectl } = controlPlane;
    return { apiUrl, kubeconfigPath, kubectl, kube, startOperator, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Builds what `npm pack` would contain, next to this checkout's dependencies; returns the file to run. */
async function build(folder: string): Promise<string> {
  await mkdir(folder);
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/build.ts'), join(folder, 'dist')]);
  await copyFile(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return join(folder, 'dist/main.js');
}
