/** What the demo is made of, step by step; `stop` takes back every step that was made. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { destination, type Logger, pino } from 'pino';
import { z } from 'zod';
import { type RunningApi, startApi } from '../src/api/server.ts';
import { API_KEY_PREFIX, newToken } from '../src/api/tokens.ts';
import { type Client, createClient } from '../src/client/client.ts';
import { operatorSettings } from '../src/operator/config.ts';
import { TunnelOperator } from '../src/operator/operator.ts';
import { readSettings } from '../src/settings.ts';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { formatProgress } from '../test/cluster/progress.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..');
const NAMESPACE = 'tunnel-demo';
const READY_TIMEOUT = '60s';

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
    await mkdir(join(ROOT, '.data'), { recursive: true });
    this.#log = pino({ level: 'info' }, destination({ dest: LOG_FILE, append: false, sync: true }));
    const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-demo-'));
    this.#undo.push(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
    const config = { dataDir: join(folder, 'postgres'), port: 0, bootstrapApiKey: this.#apiKey };
    const api = await startApi(config, this.#log.child({ program: 'api' }));
    this.#undo.push(() => api.stop());
    const client = createClient({ baseUrl: api.url, apiKey: this.#apiKey });
    this.#undo.push(() => client.close());
    [this.#api, this.#client] = [api, client];
  }

  async startCluster(report: (line: string) => void): Promise<void> {
    if (this.#kubeconfig !== undefined) {
      const onProgress = (progress: Parameters<typeof formatProgress>[0]) => report(formatProgress(progress));
      const { kubectl } = await ensureBinaries(['kubectl'], { onProgress });
      this.#cluster = { kubeconfig: this.#kubeconfig, kubectl };
      await this.#kubectl('get', '--raw=/readyz');
      return;
    }
    const controlPlane = await startControlPlane({ log: report });
    this.#undo.push(() => controlPlane.stop());
    this.#cluster = { kubeconfig: controlPlane.kubeconfigPath, kubectl: controlPlane.kubectlPath };
  }

  async installCrds(): Promise<void> {
    await this.#kubectl('apply', '--filename', join(ROOT, 'crds'));
    await this.#kubectl('wait', '--for=condition=Established', '--timeout=30s', '--filename', join(ROOT, 'crds'));
  }

  async startOperator(): Promise<void> {
    const { kubeconfig } = this.#mustHaveCluster();
    const flags = { apiUrl: this.#mustHaveApi().url, kubeconfig, metricsHost: '127.0.0.1', metricsPort: '0' };
    const settings = readSettings(operatorSettings, flags, { TUNNEL_API_KEY: this.#apiKey });
    const log = this.#log?.child({ program: 'operator' }) ?? pino();
    const operator = new TunnelOperator(settings, log);
    this.#undo.push(() => operator.stop());
    await operator.start();
  }

  async applyExamples(): Promise<void> {
    await this.#kubectl('create', 'namespace', NAMESPACE);
    // On a cluster that stays, the finalizers have to be taken back while the operator still runs.
    if (!this.isOwnCluster) {
      this.#undo.push(() => this.#kubectl('delete', 'namespace', NAMESPACE, '--wait=true', '--timeout=60s'));
      this.#undo.push(() => this.#kubectl('delete', 'tunnels', '--all', '--namespace', NAMESPACE, '--timeout=60s'));
    }
    await this.#kubectl('apply', '--namespace', NAMESPACE, '--filename', join(ROOT, 'examples'));
  }

  async waitUntilReady(): Promise<void> {
    const examples = ['--namespace', NAMESPACE, '--filename', join(ROOT, 'examples')];
    await this.#kubectl('wait', '--for=condition=Ready', `--timeout=${READY_TIMEOUT}`, ...examples);
  }

  /** Asks the API, as a tunnel server would, about the token in every Secret. */
  async proveTokens(): Promise<void> {
    const selector = '--field-selector=type=tunnel-operator.dev/authtoken';
    const raw = await this.#kubectl('get', 'secrets', '--namespace', NAMESPACE, selector, '--output=json');
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
    const table = await this.#kubectl('get', 'tunnels', '--all-namespaces');
    return [
      `\n$ kubectl get tunnels -A\n${table}`,
      ...this.#proofs,
      `\nIn another terminal:\n  export KUBECONFIG=${this.#cluster.kubeconfig}\n  kubectl get tunnels -A`,
      api,
      `The logs:    ${LOG_FILE}\n`,
    ].join('\n');
  }

  /** Takes back every step, the last first; a step that cannot be taken back does not keep the others. */
  async stop(): Promise<void> {
    for (let step = this.#undo.pop(); step; step = this.#undo.pop()) {
      await step().catch((error: unknown) =>
        this.#log?.error({ err: error }, 'could not take back a step of the demo'),
      );
    }
  }

  async #proveAcl(secret: string, bind: string, expected: boolean): Promise<void> {
    const template = '--output=go-template={{.data.token | base64decode}}';
    const token = await this.#kubectl('get', 'secret', secret, '--namespace', NAMESPACE, template);
    const answer = await this.#client?.authenticate({ token, bind });
    if (answer?.allowed !== expected) throw new Error(`${secret} and ${bind}: allowed is ${answer?.allowed}`);
    this.#proofs.push(`It may${expected ? '' : ' not'} bind ${bind}${expected ? ` (${answer.matched_rule})` : ''}`);
  }

  async #kubectl(...args: string[]): Promise<string> {
    const { kubeconfig, kubectl } = this.#mustHaveCluster();
    const { stdout } = await run(kubectl, ['--kubeconfig', kubeconfig, ...args], { maxBuffer: 16 * 1024 ** 2 });
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
