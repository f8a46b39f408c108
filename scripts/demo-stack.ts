/** What the demo is made of, step by step; `stop` takes back every step that was made. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { destination, type Logger, pino } from 'pino';
import { z } from 'zod';
import { ensureBinaries } from '../dev/control-plane/binaries.ts';
import { startControlPlane } from '../dev/control-plane/control-plane.ts';
import { formatProgress, type Progress } from '../dev/control-plane/progress.ts';
import { API_KEY_PREFIX, newToken } from '../src/api/secrets/tokens.ts';
import { type RunningApi, startApi } from '../src/api/server.ts';
import { type Client, createClient } from '../src/client/client.ts';
import { TunnelOperator } from '../src/operator/operator.ts';
import { operatorSettings } from '../src/operator/settings.ts';
import { readSettings } from '../src/settings/settings.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..');
const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager'] as const;
const NAMESPACE = 'tunnel-demo';
const READY_TIMEOUT = '60s';
/** How long `stop` waits for a step under way: longer than PostgreSQL and a control plane take to start, or to give up. */
const LONGEST_STEP_MS = 75_000;

/** Of the demo's own log: what the API and the operator say would disturb the list of steps. */
const LOG_FILE = join(ROOT, '.data', 'demo.log');

const secretList = z.object({
  items: z.array(z.object({ metadata: z.object({ name: z.string() }), data: z.record(z.string(), z.string()) })),
});

interface Cluster {
  kubeconfig: string;
  kubectl: string;
}

export class Demo {
  readonly isOwnCluster: boolean;
  readonly logFile = LOG_FILE;
  readonly #kubeconfig: string | undefined;
  readonly #undo: (() => Promise<unknown>)[] = [];
  readonly #proofs: string[] = [];
  readonly #stopping = new AbortController();
  #underWay: Promise<unknown> = Promise.resolve();
  readonly #apiKey = newToken(API_KEY_PREFIX);
  #log: Logger | undefined;
  #api: RunningApi | undefined;
  #client: Client | undefined;
  #cluster: Cluster | undefined;

  constructor({ kubeconfig }: { kubeconfig: string | undefined }) {
    this.#kubeconfig = kubeconfig;
    this.isOwnCluster = kubeconfig === undefined;
  }

  get hasCluster(): boolean {
    return this.#cluster !== undefined;
  }

  async startApi(): Promise<void> {
    await this.#make(() => this.#startApi());
  }

  async #startApi(): Promise<void> {
    await mkdir(join(ROOT, '.data'), { recursive: true });
    this.#log = pino({ level: 'info' }, destination({ dest: LOG_FILE, append: false, sync: true }));
    const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-demo-'));
    this.#undo.push(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
    // Run by root, PostgreSQL is another user, who must get through to its data.
    await chmod(folder, 0o711);
    const config = { dataDir: join(folder, 'postgres'), port: 0, bootstrapApiKey: this.#apiKey };
    const api = await startApi(config, this.#log.child({ program: 'api' }));
    const { dataDir } = api;
    // Where that user cannot enter the temporary directory itself, the data is not in our folder.
    if (dataDir !== undefined) this.#undo.push(() => rm(dirname(dataDir), { recursive: true, force: true }));
    this.#undo.push(() => api.stop());
    const client = createClient({ baseUrl: api.url, apiKey: this.#apiKey });
    this.#undo.push(() => client.close());
    [this.#api, this.#client] = [api, client];
  }

  async startCluster(report: (line: string) => void): Promise<void> {
    if (this.#kubeconfig !== undefined) {
      const onProgress = (progress: Progress) => report(formatProgress(progress));
      const { kubectl } = await ensureBinaries(['kubectl'], { onProgress });
      this.#cluster = { kubeconfig: this.#kubeconfig, kubectl };
      await this.#ask('get', '--raw=/readyz');
      return;
    }
    // Before anything is made: it may take minutes, for which `stop` does not wait. What cannot be had is said below.
    const onProgress = (progress: Progress) => report(formatProgress(progress));
    await ensureBinaries(CONTROL_PLANE, { onProgress }).catch(() => undefined);
    await this.#make(async () => {
      const controlPlane = await startControlPlane({ log: report });
      this.#undo.push(() => controlPlane.stop());
      this.#cluster = { kubeconfig: controlPlane.kubeconfigPath, kubectl: controlPlane.kubectlPath };
    });
  }

  async installCrds(): Promise<void> {
    await this.#make(() => this.#kubectl(['apply', '--filename', join(ROOT, 'crds')]));
    await this.#ask('wait', '--for=condition=Established', '--timeout=30s', '--filename', join(ROOT, 'crds'));
  }

  async startOperator(): Promise<void> {
    const { kubeconfig } = this.#mustHaveCluster();
    const flags = { apiUrl: this.#mustHaveApi().url, kubeconfig, metricsHost: '127.0.0.1', metricsPort: '0' };
    const settings = readSettings(operatorSettings, flags, { TUNNEL_API_KEY: this.#apiKey });
    const log = this.#log?.child({ program: 'operator' }) ?? pino();
    const operator = new TunnelOperator(settings, log);
    this.#undo.push(() => operator.stop());
    await this.#make(() => operator.start());
  }

  async applyExamples(): Promise<void> {
    await this.#make(() => this.#applyExamples());
  }

  async #applyExamples(): Promise<void> {
    await this.#kubectl(['create', 'namespace', NAMESPACE]);
    // On a cluster that stays, the finalizers have to be taken back while the operator still runs.
    if (!this.isOwnCluster) {
      this.#undo.push(() => this.#kubectl(['delete', 'namespace', NAMESPACE, '--wait=true', '--timeout=60s']));
      this.#undo.push(() => this.#kubectl(['delete', 'tunnels', '--all', '--namespace', NAMESPACE, '--timeout=60s']));
    }
    await this.#kubectl(['apply', '--namespace', NAMESPACE, '--filename', join(ROOT, 'examples')]);
  }

  async waitUntilReady(): Promise<void> {
    const examples = ['--namespace', NAMESPACE, '--filename', join(ROOT, 'examples')];
    await this.#ask('wait', '--for=condition=Ready', `--timeout=${READY_TIMEOUT}`, ...examples);
  }

  /** Asks the API, as a tunnel server would, about the token in every Secret. */
  async proveTokens(): Promise<void> {
    const selector = '--field-selector=type=tunnel-operator.dev/authtoken';
    const raw = await this.#ask('get', 'secrets', '--namespace', NAMESPACE, selector, '--output=json');
    const secrets = secretList.parse(JSON.parse(raw)).items;
    if (secrets.length === 0) throw new Error('there is no Secret with a token');
    for (const { metadata, data } of secrets) {
      const key = Object.keys(data).find((name) => name !== 'credential-id') ?? '';
      const token = Buffer.from(data[key] ?? '', 'base64').toString('utf8');
      const answer = await this.#client?.authenticate({ token });
      if (answer?.credential_id == null) throw new Error(`the token in Secret ${metadata.name} does not authenticate`);
      this.#proofs.push(`Secret ${metadata.name}, key ${key}: authenticates as ${answer.credential_id}`);
    }
    await this.#proveAcl('shop-agent', 'www.shop.example.com', true);
    await this.#proveAcl('shop-agent', 'www.example.org', false);
  }

  /** What a reader should see at the end. */
  async summary(): Promise<string> {
    const api = `The API:     ${this.#mustHaveApi().url}/docs   (key: ${this.#apiKey})`;
    if (!this.#cluster) return `${api}\nWithout a cluster there is nothing more to show.`;
    const table = await this.#ask('get', 'tunnels', '--all-namespaces');
    return [
      `\n$ kubectl get tunnels -A\n${table}`,
      ...this.#proofs,
      `\nIn another terminal:\n  export KUBECONFIG=${this.#cluster.kubeconfig}\n  kubectl get tunnels -A`,
      api,
      `The logs:    ${LOG_FILE}\n`,
    ].join('\n');
  }

  /**
   * Takes back every step, the last first; a step that cannot be taken back does not keep the others. One that is under
   * way is let come to its end before.
   */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the demo was stopped'));
    await Promise.race([Promise.allSettled([this.#underWay]), delay(LONGEST_STEP_MS, undefined, { ref: false })]);
    for (let step = this.#undo.pop(); step; step = this.#undo.pop()) {
      await step().catch((error: unknown) =>
        this.#log?.error({ err: error }, 'could not take back a step of the demo'),
      );
    }
  }

  async #proveAcl(secret: string, bind: string, expected: boolean): Promise<void> {
    const template = '--output=go-template={{.data.token | base64decode}}';
    const token = await this.#ask('get', 'secret', secret, '--namespace', NAMESPACE, template);
    const answer = await this.#client?.authenticate({ token, bind });
    if (answer?.allowed !== expected) throw new Error(`${secret} and ${bind}: allowed is ${answer?.allowed}`);
    this.#proofs.push(`It may${expected ? '' : ' not'} bind ${bind}${expected ? ` (${answer.matched_rule})` : ''}`);
  }

  /** Makes something that can be taken back only when it is there, for which `stop` waits. */
  async #make(action: () => Promise<unknown>): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    this.#underWay = action();
    await this.#underWay;
  }

  /** Calls kubectl for what changes nothing, and is given up when the demo stops. */
  #ask(...args: string[]): Promise<string> {
    return this.#kubectl(args, this.#stopping.signal);
  }

  async #kubectl(args: string[], signal?: AbortSignal): Promise<string> {
    const { kubeconfig, kubectl } = this.#mustHaveCluster();
    const options = { maxBuffer: 16 * 1024 ** 2, ...(signal && { signal }) };
    const { stdout } = await run(kubectl, ['--kubeconfig', kubeconfig, ...args], options);
    return stdout;
  }

  #mustHaveCluster(): Cluster {
    if (!this.#cluster) throw new Error('the cluster was not started');
    return this.#cluster;
  }

  #mustHaveApi(): RunningApi {
    if (!this.#api) throw new Error('the API was not started');
    return this.#api;
  }
}
