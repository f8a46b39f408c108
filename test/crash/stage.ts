/**
 * What one chain of crash tests works on: a namespace, an API on a database of its own, and operators as processes, each
 * behind a proxy of its own. What a user does here is remembered, so that at any time all of the namespace and all of
 * the API can be held against it (`inspect.ts`). Only for test files; it registers a hook of Vitest.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import pg from 'pg';
import { afterAll } from 'vitest';
import type { ControlPlane } from '../../dev/control-plane/control-plane-handle.ts';
import type { Declaration } from '../../dev/fixtures/kinds.ts';
import { postTo } from '../../dev/fixtures/post.ts';
import type { DataObject } from '../../dev/fixtures/source-texts.ts';
import { type Story, type StoryRow, storyRow, storyRows } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { keyring } from '../../src/api/secrets/keyring.ts';
import { type RunningApi, startApi } from '../../src/api/server.ts';
import { migrate } from '../../src/api/store/migrate.ts';
import { type Client, createClient } from '../../src/client/client.ts';
import { isNotFound } from '../../src/client/errors.ts';
import { API_VERSION, FINALIZER, SECRET_TYPE } from '../../src/operator/contract/names.ts';
import { partsOfId } from '../../src/operator/kinds/nested-calls.ts';
import { KubeApi, type ResourceType } from '../../src/operator/kube/kube-api.ts';
import { KubeError } from '../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import type { Remote } from '../../src/operator/managed/external.ts';
import { DNS_ENDPOINTS, dnsEndpointCrd } from '../e2e/foreign-crds.ts';
import { createNamespace, createTestDatabase, kubeconfig, kubectl } from '../harness.ts';
import { OperatorProcess } from './operator-process.ts';
import { FaultProxy } from './proxy.ts';

export const API_KEY = 'tnl_ak_operator_of_the_tests_0123456789';
/** With which the API seals private keys and the like. */
const ENCRYPTION_KEY = `tests:${Buffer.alloc(32, 1).toString('base64')}`;

export const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };

const CRDS = fileURLToPath(new URL('../../crds', import.meta.url));
const SCHEMA = { name: 'template_api', prepare: async (url: string) => void (await migrate(url)) };

export interface PolicySpec {
  description?: string;
  metadata?: string;
  rules?: { cidr: string; action: 'allow' | 'deny'; description?: string }[];
  deletionPolicy?: 'Delete' | 'Retain';
}

export interface CredentialSpec {
  description?: string;
  acl?: string[];
  ownerId?: string;
  secret?: { name?: string; key?: string };
  rotation?: { interval?: string; overlap?: string };
  deletionPolicy?: 'Delete' | 'Retain';
}

/** An object of any kind that is declared as its row says. */
export interface DeclaredByRow extends Declaration {
  readonly kind: string;
  readonly name: string;
  /** What the API has, beside `remote`, of objects that the spec names. @param idOf by `kind/name` */
  readonly tied?: (idOf: (object: string) => string | undefined) => Readonly<Record<string, unknown>>;
}

export type Declared =
  | DeclaredByRow
  | { readonly kind: 'IPPolicy'; readonly name: string; readonly spec: PolicySpec }
  | { readonly kind: 'TunnelCredential'; readonly name: string; readonly spec: CredentialSpec };

export interface StageOptions {
  /** More flags of every operator. */
  readonly flags?: readonly string[];
  /** Default: a database of its own on the shared Postgres. */
  readonly databaseUrl?: string;
  /** Default: the shared control plane. Of another one, the namespace `default` is used. */
  readonly cluster?: ControlPlane;
  /** Whether the cluster gets the CustomResourceDefinitions of companions; only one of its own. */
  readonly hasCompanions?: boolean;
}

const open: Stage[] = [];
let crds: Promise<void> | undefined;
let compileCache: Promise<string> | undefined;

afterAll(async () => {
  await Promise.all(open.splice(0).map((stage) => stage.close()));
  if (compileCache) await rm(await compileCache, { recursive: true, force: true });
});

export class Stage {
  readonly namespace: string;
  readonly kube: KubeApi;
  readonly databaseUrl: string;
  /** Past the proxies, with a key that no operator has. */
  readonly client: Client;
  readonly proxies: FaultProxy[] = [];
  readonly hasCompanions: boolean;
  /** What the user wants to be there. */
  readonly declared = new Map<string, Declared>();
  /** Kinds of which anything was ever declared. */
  readonly #kinds = new Set<StoryRow>();
  readonly #declarations = new Map<string, Promise<Story>>();
  /** Ids of resources that declared ones refer to; no operator has to do with them. */
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
    hasCompanions: boolean;
  }) {
    this.namespace = parts.namespace;
    this.databaseUrl = parts.databaseUrl;
    this.#kubeconfig = parts.kubeconfig;
    this.#api = parts.api;
    this.#folder = parts.folder;
    this.#compileCache = parts.compileCache;
    this.#flags = parts.flags;
    this.hasCompanions = parts.hasCompanions;
    this.kube = new KubeApi(parts.kubeconfig, { userAgent: 'crash-tests', timeoutMs: 20_000 });
    this.client = createClient({ baseUrl: parts.api.listening, apiKey: API_KEY });
    open.push(this);
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

  /** Starts one, in place of the one that ran there before. */
  async startOperator(place = 0, flags: readonly string[] = []): Promise<OperatorProcess> {
    const proxy = await this.prepareProxy(place);
    const name = `operator-${place}-${this.#started++}`;
    const operator = new OperatorProcess({
      folder: this.#folder,
      name,
      apiUrl: proxy.apiUrl,
      apiKey: this.#apiKey,
      kubeconfigPath: join(this.#folder, `kubeconfig-${place}`),
      namespace: this.namespace,
      flags: [...this.#flags, ...flags],
      compileCache: this.#compileCache,
    });
    this.#operators[place] = operator;
    return operator;
  }

  async prepareProxy(place = 0): Promise<FaultProxy> {
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

  get kinds(): readonly StoryRow[] {
    return [...this.#kinds];
  }

  get operators(): OperatorProcess[] {
    return this.#operators.filter((operator) => operator !== undefined);
  }

  /** Operators that are started from now on call the API with another key, of the same owner or of this one. */
  async exchangeApiKey(owner?: string): Promise<void> {
    const { id, token } = await this.client.apiKeys.create({
      description: 'another key',
      ...(owner !== undefined && { owner_id: owner }),
    });
    if (token === null) throw new Error('a new API key came without its token');
    this.#others.add(id);
    this.#apiKey = token;
  }

  // The API.

  /** Past the proxies. */
  get apiUrl(): string {
    return this.#api.listening;
  }

  /** The key of operators that are started now. */
  get apiKey(): string {
    return this.#apiKey;
  }

  async stopApi(): Promise<void> {
    await this.#api.stop();
  }

  /** On the port that it had. */
  async restartApi(): Promise<void> {
    const port = Number(new URL(this.#api.listening).port);
    this.#api = await startApi({ databaseUrl: this.databaseUrl, port, bootstrapApiKey: API_KEY, ...API_SETTINGS });
  }

  /** Asks the database, past the API. */
  async query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.databaseUrl });
    await client.connect();
    try {
      return (await client.query(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  // What users do.

  /** Declarations that no other number shares; what they refer to is made past the operator, and stays. */
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
    // The next attempt is not answered with this failure.
    made.catch(() => this.#declarations.delete(key));
    return made;
  }

  /** The keys with which everybody here works are nobody's orphans. */
  async keepOwnKeys(): Promise<void> {
    for await (const { id } of this.client.apiKeys.list()) this.#others.add(id);
  }

  /** Ids of what was made for others to refer to, or to work with. */
  get others(): readonly string[] {
    return [...this.#others];
  }

  /** What the API has of a kind, without what was made for others to refer to, or to work with. */
  async resourcesOf({ kind, isAttached = false }: StoryRow): Promise<Remote[]> {
    const all = await Array.fromAsync(kind.calls(this.client).list());
    // Modules are set at what was made for that.
    return isAttached ? all : all.filter(({ id }) => !this.#others.has(partsOfId(id).own));
  }

  async apply(declared: Declared, annotations: Record<string, string> = {}): Promise<void> {
    const { kind, name, spec } = declared;
    const type = typeOf(kind);
    for (const object of 'objects' in declared ? declared.objects : []) await this.#keep(object);
    const body = { apiVersion: API_VERSION, kind, metadata: { name, annotations }, spec };
    this.declared.set(`${kind}/${name}`, declared);
    this.#kinds.add(storyRow(kind));
    await retryOnConflict(async () => {
      const existing = await this.kube.find(type, name, this.namespace);
      if (!existing) return this.kube.create(type, body, this.namespace);
      const metadata = { ...existing.metadata, annotations: { ...existing.metadata.annotations, ...annotations } };
      return this.kube.replace(type, name, { ...existing, metadata, spec }, this.namespace);
    });
  }

  async #keep(object: DataObject): Promise<void> {
    const type = DATA_TYPES[object.kind];
    const { name } = object.metadata;
    const existing = await this.kube.find(type, name, this.namespace);
    if (existing)
      await this.kube.replace(type, name, { ...existing, ...object, metadata: existing.metadata }, this.namespace);
    else await this.kube.create(type, object, this.namespace);
  }

  /** As `kubectl replace` of the manifest: of the object nothing stays but its status. */
  async replace({ kind, name, spec }: Declared, annotations: Record<string, string> = {}): Promise<void> {
    const type = typeOf(kind);
    await retryOnConflict(async () => {
      const { metadata, apiVersion } = await this.kube.get(type, name, this.namespace);
      const { uid, resourceVersion } = metadata;
      const body = { apiVersion, kind, metadata: { name, uid, resourceVersion, annotations }, spec };
      return this.kube.replace(type, name, body, this.namespace);
    });
  }

  /** As a restore from a backup leaves it, and `kubectl replace --subresource=status`. */
  async wipeStatus({ kind, name }: Pick<Declared, 'kind' | 'name'>): Promise<void> {
    await retryOnConflict(async () => {
      const object = await this.kube.get(typeOf(kind), name, this.namespace);
      const status = Object.fromEntries(Object.keys(object.status ?? {}).map((member) => [member, null]));
      return this.kube.patch(typeOf(kind), name, { status }, this.namespace, 'status');
    });
  }

  /** Asks for the deletion, as `kubectl delete --wait=false`. */
  async remove({ kind, name }: Pick<Declared, 'kind' | 'name'>): Promise<void> {
    this.declared.delete(`${kind}/${name}`);
    await ignoreNotFound(this.kube.delete(typeOf(kind), name, this.namespace));
  }

  async removeAll(): Promise<void> {
    for (const declared of [...this.declared.values()]) await this.remove(declared);
  }

  async annotate({ kind, name }: Pick<Declared, 'kind' | 'name'>, annotations: Record<string, string | null>) {
    await this.kube.patch(typeOf(kind), name, { metadata: { annotations } }, this.namespace);
  }

  /** Past the operator, as another client of the API would. */
  async deleteInTheApi(kinds: readonly StoryRow[] = this.kinds): Promise<void> {
    for (const row of kinds) {
      const family = row.kind.calls(this.client);
      for (const { id } of await this.resourcesOf(row)) await family.delete(id);
    }
  }

  async deleteSecret(name: string): Promise<void> {
    await ignoreNotFound(this.kube.delete(SECRETS, name, this.namespace));
  }

  find({ kind, name }: Pick<Declared, 'kind' | 'name'>): Promise<KubeObject | undefined> {
    return this.kube.find(typeOf(kind), name, this.namespace);
  }

  /** @throws when there is none */
  async token(secret: string, key = 'token'): Promise<string> {
    const { data } = await this.kube.get(SECRETS, secret, this.namespace);
    const encoded = typeof data === 'object' && data !== null ? Object.entries(data).find(([k]) => k === key)?.[1] : '';
    return Buffer.from(String(encoded), 'base64').toString();
  }

  // The end.

  /** Removes everything by force, so that what one test left does not disturb the next. */
  async sweep(): Promise<void> {
    this.declared.clear();
    for (const { type } of this.#kinds) {
      for (const { metadata } of (await this.kube.list(type, { namespace: this.namespace })).items) {
        await ignoreNotFound(this.kube.delete(type, metadata.name, this.namespace));
        const others = metadata.finalizers?.filter((name) => name !== FINALIZER) ?? [];
        const patch = this.kube.patch(type, metadata.name, { metadata: { finalizers: others } }, this.namespace);
        await ignoreNotFound(patch);
      }
    }
    await this.sweepSecrets();
    for (const row of this.#kinds) {
      const family = row.kind.calls(this.client);
      for (const { id } of await this.resourcesOf(row)) await ignoreNotFound(family.delete(id));
    }
  }

  /** What the garbage collector would do in its own time, where there is one. */
  async sweepSecrets(): Promise<void> {
    for (const { metadata, type } of (await this.kube.list(SECRETS, { namespace: this.namespace })).items) {
      if (Object.values<unknown>(SECRET_TYPE).includes(type))
        await ignoreNotFound(this.kube.delete(SECRETS, metadata.name, this.namespace));
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

const API_SETTINGS = { poolSize: 10, encryptionKey: keyring.parse(ENCRYPTION_KEY) };

/** Sets the stage; no operator runs yet. */
export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const { cluster, flags = [], hasCompanions = false } = options;
  if (cluster) await installCrds((...args) => kubectlOf(cluster, args));
  else crds ??= installCrds((...args) => kubectl(args));
  await crds;
  compileCache ??= mkdtemp(join(tmpdir(), 'tunnel-operator-compiled-'));
  const databaseUrl = options.databaseUrl ?? (await createTestDatabase(SCHEMA));
  const api = await startApi({ databaseUrl, port: 0, bootstrapApiKey: API_KEY, ...API_SETTINGS });
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-crash-'));
  const common = { databaseUrl, api, folder, compileCache: await compileCache, flags, hasCompanions };
  const stage = new Stage({ ...common, ...(await whereOf(cluster)) });
  await stage.keepOwnKeys();
  if (hasCompanions) await installCompanions(stage);
  return stage;
}

async function whereOf(cluster: ControlPlane | undefined) {
  if (!cluster) return { namespace: await createNamespace('crash'), kubeconfig: await kubeconfig() };
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig);
  return { namespace: 'default', kubeconfig: config };
}

type Kubectl = (...args: string[]) => Promise<{ code: number; stderr: string }>;

async function installCrds(run: Kubectl): Promise<void> {
  const applied = await run('apply', '--server-side', '--force-conflicts', '-f', CRDS);
  if (applied.code !== 0) throw new Error(applied.stderr);
  const waited = await run('wait', '--for=condition=Established', '--timeout=60s', '-f', CRDS);
  if (waited.code !== 0) throw new Error(waited.stderr);
}

async function installCompanions({ kube, namespace }: Stage): Promise<void> {
  const crds = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
  await kube.create(crds, dnsEndpointCrd());
  const isFatal = (error: unknown) => !(error instanceof KubeError && (error.isNotFound || error.isThrottled));
  await waitFor('DNSEndpoints to be served', () => kube.list(DNS_ENDPOINTS, { namespace }), { isFatal });
}

async function kubectlOf({ kubectlPath, kubeconfigPath }: ControlPlane, args: string[]) {
  await promisify(execFile)(kubectlPath, ['--kubeconfig', kubeconfigPath, ...args]);
  return { code: 0, stderr: '' };
}

const DATA_TYPES: Readonly<Record<DataObject['kind'], ResourceType>> = {
  Secret: SECRETS,
  ConfigMap: { group: '', version: 'v1', plural: 'configmaps' },
};

export const typeOf = (kind: Declared['kind']): ResourceType => storyRow(kind).type;

async function ignoreNotFound(promise: Promise<unknown>): Promise<void> {
  await promise.catch((error) => {
    if (!(error instanceof KubeError && error.isNotFound) && !isNotFound(error)) throw error;
  });
}

async function retryOnConflict(attempt: () => Promise<unknown>): Promise<void> {
  const isFatal = (error: unknown) => !(error instanceof KubeError && error.isConflict);
  await waitFor('a write that nobody else disturbs', async () => (await attempt()) !== undefined, { isFatal });
}
