/**
 * The environment of one chain of crash tests: a namespace, an API with its own database, and operator processes, each
 * behind its own proxy. It remembers what users declare, so that `inspect.ts` can compare the whole namespace and the
 * whole API with it. Only for test files; it registers a hook of Vitest.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import pg from 'pg';
import type { ControlPlane } from '../../dev/control-plane/control-plane-handle.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import { type Story, type StoryRow, storyRows } from '../../dev/fixtures/story-rows.ts';
import { keyring } from '../../src/api/secrets/keyring.ts';
import { type RunningApi, startApi } from '../../src/api/server.ts';
import { migrate } from '../../src/api/store/migrate.ts';
import { type Client, createClient } from '../../src/client/client.ts';
import { partsOfId } from '../../src/operator/kinds/nested-calls.ts';
import { KubeApi } from '../../src/operator/kube/kube-api.ts';
import type { Remote } from '../../src/operator/managed/declaration/external.ts';
import { FIRST_ACCOUNT } from '../../src/resources/account.ts';
import { withCheckAtEnd } from '../api/events/overdue.ts';
import { installCrdsIn } from '../crds.ts';
import { atEnd } from '../end-of-file.ts';
import { createNamespace, createTestDatabase, installCrds, kubeconfig } from '../harness.ts';
import { compileCache } from './compile-cache.ts';
import { OperatorProcess } from './operator-process.ts';
import { FaultProxy } from './proxy.ts';
import { ignoreNotFound, UserNamespace } from './user-namespace.ts';

export const API_KEY = 'tnl_ak_operator_of_the_tests_0123456789';
/** The API seals private keys and the like with it. */
const ENCRYPTION_KEY = `tests:${Buffer.alloc(32, 1).toString('base64')}`;

const SCHEMA = { name: 'template_api', prepare: async (url: string) => void (await migrate(url)) };

interface StageOptions {
  /** Additional flags for every operator. */
  readonly flags?: readonly string[];
  /** Default: a database of its own on the shared Postgres. */
  readonly databaseUrl?: string;
  /** Default: the shared control plane. In any other, the namespace `default` is used. */
  readonly cluster?: ControlPlane;
}

export class Stage extends UserNamespace {
  readonly databaseUrl: string;
  /** Bypasses the proxies. */
  readonly client: Client;
  readonly proxies: FaultProxy[] = [];
  readonly #declarations = new Map<string, Promise<Story>>();
  /** Ids of API keys and of resources that declared ones refer to; no operator manages them. */
  readonly #others = new Set<string>();
  #api: RunningApi;
  readonly #folder: string;
  readonly #compileCache: string;
  readonly #kubeconfig: KubeConfig;
  readonly #flags: readonly string[];
  readonly #operators: (OperatorProcess | undefined)[] = [];
  #apiKey = API_KEY;
  #started = 0;
  #isClosed = false;

  constructor(parts: {
    namespace: string;
    databaseUrl: string;
    kubeconfig: KubeConfig;
    api: RunningApi;
    folder: string;
    compileCache: string;
    flags: readonly string[];
  }) {
    super(parts.namespace, new KubeApi(parts.kubeconfig, { userAgent: 'crash-tests', timeoutMs: 20_000 }));
    this.databaseUrl = parts.databaseUrl;
    this.#kubeconfig = parts.kubeconfig;
    this.#api = parts.api;
    this.#folder = parts.folder;
    this.#compileCache = parts.compileCache;
    this.#flags = parts.flags;
    this.client = createClient({ baseUrl: parts.api.listening, apiKey: API_KEY });
    atEnd(() => this.close());
  }

  // Operators.

  /** The proxy of the operator in this place. */
  proxy(place = 0): FaultProxy {
    const proxy = this.proxies[place];
    if (!proxy) throw new Error(`no operator was started in place ${place}`);
    return proxy;
  }

  operator(place = 0): OperatorProcess {
    const operator = this.#operators[place];
    if (!operator) throw new Error(`no operator runs in place ${place}`);
    return operator;
  }

  /** Starts an operator in this place, which takes over from the previous one. */
  async startOperator(place = 0): Promise<OperatorProcess> {
    const proxy = await this.#proxyAt(place);
    const name = `operator-${place}-${this.#started++}`;
    const operator = new OperatorProcess({
      folder: this.#folder,
      name,
      apiUrl: proxy.apiUrl,
      apiKey: this.#apiKey,
      kubeconfigPath: join(this.#folder, `kubeconfig-${place}`),
      namespace: this.namespace,
      flags: this.#flags,
      compileCache: this.#compileCache,
    });
    this.#operators[place] = operator;
    return operator;
  }

  async #proxyAt(place: number): Promise<FaultProxy> {
    const known = this.proxies[place];
    if (known) return known;
    const proxy = await FaultProxy.start(this.#api.listening, this.#kubeconfig);
    this.proxies[place] = proxy;
    await writeFile(join(this.#folder, `kubeconfig-${place}`), proxy.kubeconfig, { mode: 0o600 });
    return proxy;
  }

  async killOperators(): Promise<void> {
    await Promise.all(this.#operators.map((operator) => operator?.kill()));
  }

  /** The operator in this place has ended for good. */
  leave(place: number): void {
    this.#operators[place] = undefined;
  }

  get operators(): OperatorProcess[] {
    return this.#operators.filter((operator) => operator !== undefined);
  }

  /** Operators started from now on call the API with another key of the same owner. */
  async exchangeApiKey(): Promise<void> {
    const { id, token } = await this.client.apiKeys.create({ description: 'another key' });
    if (token === null) throw new Error('a new API key came without its token');
    this.#others.add(id);
    this.#apiKey = token;
  }

  // The API.

  /** Not through the proxies. */
  get apiUrl(): string {
    return this.#api.listening;
  }

  async stopApi(): Promise<void> {
    await this.#api.stop();
  }

  /** On the same port as before. */
  async restartApi(): Promise<void> {
    const port = Number(new URL(this.#api.listening).port);
    const settings = { databaseUrl: this.databaseUrl, port, bootstrapApiKey: API_KEY, ...API_SETTINGS };
    this.#api = withCheckAtEnd(await startApi(settings));
  }

  /** Queries the database directly. */
  async query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.databaseUrl });
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  // Its resources.

  /** Declarations unique to the number `n`. What they refer to is created directly in the API, and stays. */
  declare(row: StoryRow, n: number): Promise<Story> {
    const key = `${row.name} ${n}`;
    const known = this.#declarations.get(key);
    if (known) return known;
    const post = postTo(this.apiUrl, API_KEY);
    const number = n * storyRows.length + storyRows.indexOf(row);
    const made = row.declare(async (path, body) => {
      const resource = await post(path, body);
      this.#others.add(String(resource.id));
      return resource;
    }, number);
    this.#declarations.set(key, made);
    // Do not answer the next attempt with this failure.
    made.catch(() => this.#declarations.delete(key));
    return made;
  }

  /** The API keys that the tests themselves use are not orphans. */
  async keepOwnKeys(): Promise<void> {
    for await (const { id } of this.client.apiKeys.list()) this.#others.add(id);
  }

  /** Ids of resources made for others to refer to, and of the tests' own API keys. */
  get others(): readonly string[] {
    return [...this.#others];
  }

  /** The resources of a kind in the API, without those in `others`. */
  async resourcesOf({ kind, isAttached = false }: StoryRow): Promise<Remote[]> {
    const listed = await Array.fromAsync(kind.calls(this.client).list());
    // Every API has it.
    const all = listed.filter(({ id }) => id !== FIRST_ACCOUNT);
    // Modules are settings of resources in `others`, so none is left out.
    return isAttached ? all : all.filter(({ id }) => !this.#others.has(partsOfId(id).own));
  }

  /** Bypasses the operator, as another client of the API would. */
  async deleteInTheApi(kinds: readonly StoryRow[] = this.kinds): Promise<void> {
    for (const row of kinds) {
      const family = row.kind.calls(this.client);
      for (const { id } of await this.resourcesOf(row)) await family.delete(id);
    }
  }

  // The end.

  override async sweep(): Promise<void> {
    await super.sweep();
    for (const row of this.kinds) {
      const family = row.kind.calls(this.client);
      for (const { id } of await this.resourcesOf(row)) await ignoreNotFound(family.delete(id));
    }
  }

  /** May be called again. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.killOperators();
    await this.sweep().catch(() => {});
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
    await Promise.all([this.client.close(), this.kube.close()]);
    await this.#api.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

const API_SETTINGS = { poolSize: 10, maxEventLoopDelayMs: 0, encryptionKey: keyring.parse(ENCRYPTION_KEY) };

/** Sets the stage; no operator runs yet. */
export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const { cluster, flags = [] } = options;
  await (cluster ? installCrdsIn(cluster) : installCrds());
  const databaseUrl = options.databaseUrl ?? (await createTestDatabase(SCHEMA));
  const api = withCheckAtEnd(await startApi({ databaseUrl, port: 0, bootstrapApiKey: API_KEY, ...API_SETTINGS }));
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-crash-'));
  const common = { databaseUrl, api, folder, compileCache: await compileCache(), flags };
  const stage = new Stage({ ...common, ...(await whereOf(cluster)) });
  await stage.keepOwnKeys();
  return stage;
}

async function whereOf(cluster: ControlPlane | undefined) {
  if (!cluster) return { namespace: await createNamespace('crash'), kubeconfig: await kubeconfig() };
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig);
  return { namespace: 'default', kubeconfig: config };
}
