/** The steps of the demo; `stop` undoes every completed step. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ensureBinaries } from '../dev/control-plane/binaries.ts';
import { startOwnControlPlane } from '../dev/control-plane/control-plane.ts';
import { formatProgress, type Progress } from '../dev/control-plane/progress.ts';
import { startProgram, untilAnswering } from '../dev/processes/program.ts';
import { isOnPath, quoted } from '../dev/processes/shell.ts';
import { API_KEY_PREFIX, newToken } from '../src/api/secrets/tokens.ts';
import { type Client, createClient } from '../src/client/client.ts';
import { freePort } from '../src/postgres/ports.ts';
import { startTemporaryPostgres } from '../src/postgres/temporary.ts';
import { type DemoAuthority, proveCertificate, startDemoAuthority } from './demo-authority.ts';
import { type DemoReceiver, receiverManifest, startDemoReceiver } from './demo-receiver.ts';
import { proveTeams } from './demo-teams.ts';
import { proveTokens } from './demo-tokens.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..');
const CONTROL_PLANE = ['etcd', 'kube-apiserver', 'kubectl', 'kube-controller-manager'] as const;
const NAMESPACE = 'tunnel-demo';
const LOOPBACK = '127.0.0.1';
const READY_TIMEOUT = '60s';
const ARRIVAL_MS = 30_000;
/**
 * How long `stop` waits for a step in progress: longer than PostgreSQL and a control plane take to start or to give up.
 */
const LONGEST_STEP_MS = 75_000;

/** The logs of the API and the operator go to files, so as not to disturb the list of steps. */
const LOG_FOLDER = join(ROOT, '.data', 'demo');

interface Cluster {
  kubeconfig: string;
  kubectl: string;
}

export class Demo {
  readonly isOwnCluster: boolean;
  readonly logFolder = LOG_FOLDER;
  readonly #kubeconfig: string | undefined;
  readonly #onLoss: (message: string) => void;
  readonly #undo: (() => Promise<unknown>)[] = [];
  readonly #proofs: string[] = [];
  readonly #stopping = new AbortController();
  #underWay: Promise<unknown> = Promise.resolve();
  readonly #apiKey = newToken(API_KEY_PREFIX);
  readonly #watch: boolean;
  #apiUrl: string | undefined;
  #client: Client | undefined;
  #cluster: Cluster | undefined;
  #receiver: DemoReceiver | undefined;
  #authority: DemoAuthority | undefined;
  #apiPort: number | undefined;

  /**
   * @param kubeconfig of an existing cluster; without it, the demo starts its own
   * @param watch restarts the API and the operator when a file that they have loaded changes
   * @param onLoss called when the API or the operator exits without being stopped by the demo
   */
  constructor(options: { kubeconfig?: string | undefined; watch?: boolean; onLoss: (message: string) => void }) {
    const { kubeconfig, watch = false, onLoss } = options;
    this.#kubeconfig = kubeconfig;
    this.#watch = watch;
    this.#onLoss = onLoss;
    this.isOwnCluster = kubeconfig === undefined;
  }

  get hasCluster(): boolean {
    return this.#cluster !== undefined;
  }

  get hasAuthority(): boolean {
    return this.#authority !== undefined;
  }

  /** @throws BinaryUnavailable */
  async startAuthority(report: (line: string) => void): Promise<void> {
    this.#apiPort = await freePort();
    const authority = await startDemoAuthority(this.#apiPort, report);
    this.#undo.push(() => authority.stop());
    this.#authority = authority;
  }

  async startApi(): Promise<void> {
    await this.#make(() => this.#startApi());
  }

  async #startApi(): Promise<void> {
    await mkdir(LOG_FOLDER, { recursive: true });
    const postgres = await startTemporaryPostgres();
    this.#undo.push(() => postgres.stop());
    const port = this.#apiPort ?? (await freePort());
    const url = `http://127.0.0.1:${port}`;
    const env = {
      ...this.#authority?.env,
      DATABASE_URL: postgres.url,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      BOOTSTRAP_API_KEY: this.#apiKey,
      PORT: String(port),
      LOG_FORMAT: 'json',
      // For the receiver of the demo; by default, only public addresses get events.
      EVENT_ALLOW_NETWORKS: LOOPBACK,
      EVENT_HTTP_HOSTS: LOOPBACK,
    };
    await this.#start('api', env, url);
    const client = createClient({ baseUrl: url, apiKey: this.#apiKey });
    this.#undo.push(() => client.close());
    [this.#apiUrl, this.#client] = [url, client];
  }

  /** Starts one of the programs with an empty log; returns when it is ready. */
  async #start(name: 'api' | 'operator', env: NodeJS.ProcessEnv, url: string): Promise<void> {
    await rm(join(LOG_FOLDER, `${name}.log`), { force: true });
    const node = this.#watch ? ['--watch'] : [];
    const child = startProgram([name], { name, folder: LOG_FOLDER, env, node });
    this.#undo.push(() => child.stop({ graceMs: 15_000 }));
    await untilAnswering(child, `${url}/readyz`);
    void child.exited.then(({ code, signal }) => {
      if (this.#stopping.signal.aborted) return;
      this.#onLoss(`The ${name} has ended (${signal ?? `code ${code}`}). The logs: ${LOG_FOLDER}`);
    });
  }

  async startCluster(report: (line: string) => void): Promise<void> {
    if (this.#kubeconfig !== undefined) {
      const onProgress = (progress: Progress) => report(formatProgress(progress));
      const { kubectl } = await ensureBinaries(['kubectl'], { onProgress });
      this.#cluster = { kubeconfig: this.#kubeconfig, kubectl };
      await this.#ask('get', '--raw=/readyz');
      return;
    }
    // Comes first, since it may take minutes and `stop` does not wait for it. Missing binaries are reported below.
    const onProgress = (progress: Progress) => report(formatProgress(progress));
    await ensureBinaries(CONTROL_PLANE, { onProgress }).catch(() => undefined);
    await this.#make(async () => {
      const controlPlane = await startOwnControlPlane({ log: report });
      this.#undo.push(() => controlPlane.stop());
      this.#cluster = { kubeconfig: controlPlane.kubeconfigPath, kubectl: controlPlane.kubectlPath };
    });
  }

  async installCrds(): Promise<void> {
    // A pattern for kubectl: the folder also has a file for kustomize.
    const files = join(ROOT, 'crds', 'tunnel-operator.dev_*.yaml');
    await this.#make(() => this.#kubectl(['apply', '--filename', files]));
    await this.#ask('wait', '--for=condition=Established', '--timeout=30s', '--filename', files);
  }

  async startOperator(): Promise<void> {
    await this.#make(() => this.#startOperator());
  }

  async #startOperator(): Promise<void> {
    await this.#kubectl(['create', 'namespace', NAMESPACE]);
    if (!this.isOwnCluster)
      this.#undo.push(() => this.#kubectl(['delete', 'namespace', NAMESPACE, '--wait=true', '--timeout=60s']));
    const port = await freePort();
    const env = {
      // A kubeconfig may name a credential program with its own settings and files.
      ...(this.isOwnCluster ? {} : process.env),
      KUBECONFIG: this.#mustHaveCluster().kubeconfig,
      TUNNEL_API_URL: this.#mustHaveApi(),
      TUNNEL_API_KEY: this.#apiKey,
      // Other objects may belong to another operator, and its Lease must not record the demo's API.
      ...(this.isOwnCluster ? {} : { WATCH_NAMESPACE: NAMESPACE }),
      POD_NAMESPACE: NAMESPACE,
      LEADER_ELECT: 'false',
      METRICS_HOST: '127.0.0.1',
      METRICS_PORT: String(port),
      LOG_FORMAT: 'json',
    };
    await this.#start('operator', env, `http://127.0.0.1:${port}`);
  }

  async applyExamples(): Promise<void> {
    await this.#make(() => this.#applyExamples());
  }

  async #applyExamples(): Promise<void> {
    // On an existing cluster, the finalizers must be removed while the operator is still running.
    if (!this.isOwnCluster)
      this.#undo.push(() => this.#kubectl(['delete', 'tunnels', '--all', '--namespace', NAMESPACE, '--timeout=60s']));
    await this.#kubectl(['apply', '--namespace', NAMESPACE, '--filename', join(ROOT, 'examples')]);
  }

  async waitUntilReady(): Promise<void> {
    const all = ['tunnels', '--all', '--namespace', NAMESPACE];
    await this.#ask('wait', '--for=condition=Ready', `--timeout=${READY_TIMEOUT}`, ...all);
  }

  async proveTokens(): Promise<void> {
    const client = this.#client;
    if (client) this.#proofs.push(...(await proveTokens(client, (...args) => this.show(...args))));
  }

  async proveTeams(): Promise<void> {
    this.#proofs.push(...(await proveTeams(this, this.#mustHaveApi())));
  }

  /** Declares a destination for the events of policies and changes a policy; returns when the event has arrived. */
  async proveDelivery(): Promise<void> {
    await this.#make(async () => {
      const receiver = await startDemoReceiver(LOOPBACK);
      this.#undo.push(() => receiver.stop());
      this.#receiver = receiver;
    });
    const receiver = this.#receiver;
    if (!receiver) throw new Error('the receiver was not started');
    await this.applyUntil('Ready', receiverManifest(receiver.url));
    const template = '--output=go-template={{index .data "signing-secret" | base64decode}}';
    receiver.secret = await this.show('get', 'secret', 'receiver-signing-secret', template);
    const arrival = receiver.next(ARRIVAL_MS);
    const change = JSON.stringify({ spec: { description: 'Changed by the demo' } });
    await this.#make(() => this.show('patch', 'ippolicy', 'office', '--type=merge', `--patch=${change}`));
    this.#proofs.push(await arrival);
  }

  async proveCertificate(): Promise<void> {
    this.#proofs.push(await proveCertificate(this));
  }

  /** Calls `print` for each further event that arrives. */
  printEvents(print: (line: string) => void): void {
    if (this.#receiver) this.#receiver.onEvent = print;
  }

  /** The output of kubectl in the namespace of the examples. */
  show(...args: string[]): Promise<string> {
    return this.#ask('--namespace', NAMESPACE, ...args);
  }

  /** Applies a file, by default in the namespace of the examples. */
  async apply(file: string, namespace = NAMESPACE): Promise<void> {
    await this.#make(() => this.#kubectl(['apply', '--namespace', namespace, '--filename', file]));
  }

  /** Applies objects, by default in the namespace of the examples; returns when the condition of each is true. */
  async applyUntil(condition: string, manifest: object, namespace = NAMESPACE): Promise<void> {
    const file = join(LOG_FOLDER, 'applied.json');
    await writeFile(file, JSON.stringify(manifest));
    await this.apply(file, namespace);
    // Not for all objects, which takes kubectl long.
    const until = [`--for=condition=${condition}`, `--timeout=${READY_TIMEOUT}`];
    await this.show('wait', '--namespace', namespace, ...until, '--filename', file);
  }

  /** The text printed at the end. */
  async summary(): Promise<string> {
    const api = `The API:     ${this.#mustHaveApi()}/docs   (key: ${this.#apiKey})`;
    if (!this.#cluster) return `${api}\nThere is nothing more to show without a cluster.`;
    const table = await this.#ask('get', 'tunnels', '--all-namespaces');
    const command = isOnPath('kubectl') ? 'kubectl' : quoted(this.#cluster.kubectl);
    return [
      `\n$ kubectl get tunnels -A\n${table}`,
      ...this.#proofs,
      `\nIn another terminal:\n  export KUBECONFIG=${quoted(this.#cluster.kubeconfig)}\n  ${command} get tunnels -A`,
      api,
      `The logs:    ${LOG_FOLDER}\n`,
    ].join('\n');
  }

  /**
   * Undoes every step, the last first, after waiting for the one in progress. A step that cannot be undone does not
   * stop the others.
   */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the demo was stopped'));
    await Promise.race([Promise.allSettled([this.#underWay]), delay(LONGEST_STEP_MS, undefined, { ref: false })]);
    for (let step = this.#undo.pop(); step; step = this.#undo.pop()) {
      await step().catch((error: unknown) => process.stderr.write(`could not undo a step: ${error}\n`));
    }
  }

  /** Creates something that can only be undone once it exists; `stop` waits for it. */
  async #make(action: () => Promise<unknown>): Promise<void> {
    this.#stopping.signal.throwIfAborted();
    this.#underWay = action();
    await this.#underWay;
  }

  /** Calls kubectl read-only; aborted when the demo stops. */
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

  #mustHaveApi(): string {
    if (!this.#apiUrl) throw new Error('the API was not started');
    return this.#apiUrl;
  }
}
