/** The operator as users run it: in its own process, which can be killed. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type Child, type Exit, waitForChild } from '../../dev/processes/child-process.ts';
import { startProgram } from '../../dev/processes/program.ts';
import { metricSum } from '../metric-sum.ts';

interface OperatorSettings {
  /** Holds its log and its kubeconfig. */
  readonly folder: string;
  /** Unique in the folder. */
  readonly name: string;
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly kubeconfigPath: string;
  readonly namespace: string;
  /** Additional flags, which override the defaults. */
  readonly flags?: readonly string[];
  /** Additional environment variables. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where Node keeps compiled code between starts. */
  readonly compileCache: string;
}

const logLine = z.looseObject({ msg: z.string().optional(), url: z.string().optional() });

export class OperatorProcess {
  readonly #child: Child;
  #metricsUrl: string | undefined;

  constructor(settings: OperatorSettings) {
    const { folder, name, apiUrl, apiKey, kubeconfigPath, namespace, flags = [], compileCache } = settings;
    const ours = ['--leader-elect', 'false', '--metrics-host', '127.0.0.1', '--metrics-port', '0'];
    // The rows of all kinds include an API key without an owner.
    ours.push('--allow-user-api-keys', 'true');
    // A resync would repair what the operator has missed; tests must not rely on that.
    const args = ['operator', ...ours, '--resync-interval', '1h', '--log-level', 'debug', ...flags];
    this.#child = startProgram(args, {
      name,
      folder,
      env: {
        NODE_COMPILE_CACHE: compileCache,
        LOG_FORMAT: 'json',
        TUNNEL_API_URL: apiUrl,
        TUNNEL_API_KEY: apiKey,
        KUBECONFIG: kubeconfigPath,
        WATCH_NAMESPACE: namespace,
        // Other test files work in the same cluster, each with an API of its own.
        POD_NAMESPACE: namespace,
        ...settings.env,
      },
    });
  }

  get isRunning(): boolean {
    return this.#child.exit() === undefined;
  }

  /** Sends SIGKILL; returns when the process has ended. */
  async kill(): Promise<void> {
    await this.#child.stop({ signal: 'SIGKILL' });
  }

  /** SIGTERM, as Kubernetes ends a pod. */
  async stop(): Promise<Exit> {
    return this.#child.stop({ graceMs: 30_000 });
  }

  log(): Promise<string> {
    return readFile(this.#child.logFile, 'utf8');
  }

  /** Resolves when its caches are filled and its workers run. */
  async untilReconciling(): Promise<void> {
    await this.#untilLogged('reconciling');
  }

  /** Whether it has compared everything with the API once, no worker is busy, and nothing is queued. */
  async isIdle(): Promise<boolean> {
    const metrics = await this.metrics();
    const busy = metricSum(metrics, 'workqueue_depth') + metricSum(metrics, 'controller_runtime_active_workers');
    return busy === 0 && metricSum(metrics, 'tunnel_operator_resyncs_total', { result: 'success' }) >= 2;
  }

  async metrics(): Promise<string> {
    this.#metricsUrl ??= (await this.#untilLogged('serving metrics and probes')).url;
    const response = await fetch(`${this.#metricsUrl}/metrics`);
    return response.text();
  }

  #untilLogged(message: string) {
    const find = async () => {
      const lines = (await this.log()).split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
      return lines.map((line) => logLine.parse(JSON.parse(line))).find(({ msg }) => msg === message);
    };
    return waitForChild(this.#child, `log "${message}"`, find, { intervalMs: 30 });
  }
}
