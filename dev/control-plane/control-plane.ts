/** A real Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager) on loopback, for tests and demos. */
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../src/postgres/ports.ts';
import { type Child, startChild, waitForChild } from '../processes/child-process.ts';
import { processStats } from '../processes/stats.ts';
import { BinaryUnavailable, ensureBinaries } from './binaries.ts';
import type { BinaryName } from './binary-name.ts';
import type { KeyPair } from './certificates.ts';
import { apiServerArgs, controllerManagerArgs, etcdArgs, layout, type Ports } from './components.ts';
import type { ControlPlane } from './control-plane-handle.ts';
import { writeCredentials } from './credentials.ts';
import { externalControlPlane } from './external.ts';
import { formatProgress, type Progress } from './progress.ts';

/** Does not inherit this process's environment: etcd reads `ETCD_*` as flags, and nothing here needs a proxy. */
const CHILD_ENVIRONMENT = { PATH: process.env.PATH };

/** Generous, for a busy machine. */
const READINESS = { timeoutMs: 60_000 };

interface ControlPlaneOptions {
  /**
   * For keys, logs and etcd's data; made and removed with the control plane. Default: a new one under the temporary
   * directory.
   */
  readonly dataDir?: string;
  /**
   * `true`: start the kube-controller-manager, without which nothing is garbage-collected, namespaces are not deleted
   * and have no service accounts. `'if-available'` (the default): start it, or log why it is unavailable.
   */
  readonly controllerManager?: boolean | 'if-available';
  /** More flags for kube-apiserver, e.g. `--watch-cache=false`; they override the defaults. */
  readonly apiServerArgs?: readonly string[];
  /** Receives progress, line by line: what is fetched, built and started. */
  readonly log?: (line: string) => void;
}

/** A control plane for tests: the cluster of `TEST_KUBECONFIG` if that is set, otherwise one of their own. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const external = process.env.TEST_KUBECONFIG;
  return external ? externalControlPlane(external) : startOwnControlPlane(options);
}

/**
 * Starts a control plane. The processes do not outlive this one, even if it is killed by SIGKILL.
 * @throws BinaryUnavailable when etcd, kube-apiserver or kubectl (or, if asked for by `true`, kube-controller-manager)
 *   can neither be found nor fetched nor built; ChildExited or WaitTimeout when they do not come up.
 */
export async function startOwnControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const log = options.log ?? (() => {});
  const onProgress = (progress: Progress) => log(formatProgress(progress));
  const binaries = await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl'], { onProgress });
  const controllerManager = await controllerManagerBinary(options.controllerManager ?? 'if-available', log, onProgress);

  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'tunnel-operator-cluster-')));
  const files = layout(dataDir);
  const [etcdClient = 0, etcdPeer = 0, apiServer = 0] = await freePorts(3);
  const ports: Ports = { etcdClient, etcdPeer, apiServer };
  const server = `https://127.0.0.1:${apiServer}`;
  const credentials = await writeCredentials(files, server);

  const extra = options.apiServerArgs ?? [];
  const apiServerFlags = apiServerArgs(files, ports, { controllerManager: controllerManager !== undefined, extra });
  const start = (name: BinaryName, command: string, args: string[]) =>
    startChild({
      name,
      command,
      args,
      logFile: files.log(name),
      cwd: dataDir,
      env: CHILD_ENVIRONMENT,
      removeOnLoss: dataDir,
    });

  const running: { etcd?: Child; apiServer?: Child; controllerManager?: Child } = {};

  async function startApiServer(): Promise<void> {
    const child = start('kube-apiserver', binaries['kube-apiserver'], apiServerFlags);
    running.apiServer = child;
    await waitForChild(child, 'be ready', () => get(server, '/readyz', credentials.ca, credentials.admin), READINESS);
  }

  async function killApiServer(): Promise<void> {
    await running.apiServer?.stop({ signal: 'SIGKILL' });
  }

  async function stop(): Promise<void> {
    // The API server would spend its grace period on clients that still watch, and nothing in it needs to be saved.
    await Promise.all([running.controllerManager?.stop({ graceMs: 1000 }), running.apiServer?.stop({ graceMs: 1000 })]);
    await running.etcd?.stop({ graceMs: 1000 });
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  }

  try {
    const startedAt = performance.now();
    running.etcd = start('etcd', binaries.etcd, etcdArgs(files, ports));
    await startApiServer();
    if (controllerManager !== undefined) {
      const child = start('kube-controller-manager', controllerManager, controllerManagerArgs(files));
      running.controllerManager = child;
      const path = '/api/v1/namespaces/default/serviceaccounts/default';
      await waitForChild(child, 'be ready', () => get(server, path, credentials.ca, credentials.admin), READINESS);
    }
    log(`control plane ready at ${server} after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    server,
    kubeconfig: credentials.kubeconfig,
    kubeconfigPath: files.adminKubeconfig,
    kubectlPath: binaries.kubectl,
    dataDir,
    hasControllerManager: controllerManager !== undefined,
    external: false,
    killApiServer,
    startApiServer,
    restartApiServer: async () => {
      await killApiServer();
      await startApiServer();
    },
    pauseApiServer: () => running.apiServer?.kill('SIGSTOP'),
    resumeApiServer: () => running.apiServer?.kill('SIGCONT'),
    stats: () => processStats(Object.values(running).filter((child) => !child.exit())),
    stop,
  };
}

async function controllerManagerBinary(
  wanted: boolean | 'if-available',
  log: (line: string) => void,
  onProgress: (progress: Progress) => void,
): Promise<string | undefined> {
  if (wanted === false) return undefined;
  try {
    return (await ensureBinaries(['kube-controller-manager'], { onProgress }))['kube-controller-manager'];
  } catch (error) {
    if (wanted === true || !(error instanceof BinaryUnavailable)) throw error;
    log(`continuing without garbage collection and service accounts: ${error.message}`);
    return undefined;
  }
}

/** Whether a GET returns 200. */
function get(server: string, path: string, ca: string, client: KeyPair): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const tls = { ca, cert: client.certificate, key: client.key, agent: false as const };
    const sent = request(new URL(path, server), { ...tls, timeout: 2000 }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode === 200));
    });
    sent.once('timeout', () => sent.destroy(new Error(`no response from ${path}`)));
    sent.once('error', reject);
    sent.end();
  });
}
