/** What all lives of a test file share, and the operator of each. Only for test files; it registers hooks. */
import { pino } from 'pino';
import { startApi } from '../../../src/api/server.ts';
import { migrate } from '../../../src/api/store/migrate.ts';
import { createClient } from '../../../src/client/client.ts';
import { GROUP, VERSION } from '../../../src/operator/contract/names.ts';
import { tunnelCredentialKind } from '../../../src/operator/kinds/tunnel-credential.ts';
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts';
import { KubeApi, type ResourceType } from '../../../src/operator/kube/kube-api.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { slim, WatchCache } from '../../../src/operator/kube/watch-cache.ts';
import { Claims } from '../../../src/operator/managed/knowledge/claims.ts';
import { ConnectedKind } from '../../../src/operator/managed/object/connected-kind.ts';
import { DnsEndpoints } from '../../../src/operator/managed/object/dns-endpoint.ts';
import { oneConnection } from '../../../src/operator/managed/object/object-connections.ts';
import { ManagedReconciler } from '../../../src/operator/managed/reconciler.ts';
import { ReissueBackoff } from '../../../src/operator/managed/secrets/reissue-backoff.ts';
import { SecretAccess } from '../../../src/operator/managed/secrets/secret-access.ts';
import { SECRETS, SecretCache } from '../../../src/operator/managed/secrets/secret-cache.ts';
import { createMetrics } from '../../../src/operator/metrics.ts';
import { atEnd } from '../../end-of-file.ts';
import { createNamespace, createTestDatabase, installCrds, kubeconfig, testPool } from '../../harness.ts';
import { noInputs } from '../../operator/inputs.ts';
import { admit, WiredKubeApi } from './wire.ts';

export { SECRETS };
export const CREDENTIALS: ResourceType = { group: GROUP, version: VERSION, plural: 'tunnelcredentials' };

const API_KEY = 'tnl_ak_operator_of_the_tests_0123456789';
const SCHEMA = { name: 'template_api', prepare: async (url: string) => void (await migrate(url)) };

export type World = Awaited<ReturnType<typeof openWorld>>;

export async function openWorld() {
  const [namespace, databaseUrl, config] = await Promise.all([
    createNamespace('wipes'),
    createTestDatabase(SCHEMA),
    kubeconfig(),
    installCrds(),
  ]);
  const api = await startApi({ databaseUrl, port: 0, bootstrapApiKey: API_KEY, poolSize: 10, rateLimit: 0 });
  const access = { baseUrl: api.url, apiKey: API_KEY };
  const client = createClient(access);
  const operatorsClient = createClient({ ...access, retries: 0, admit });
  const kube = new KubeApi(config, { userAgent: 'wipes', timeoutMs: 30_000 });
  const operatorsKube = new WiredKubeApi(config, { userAgent: 'wipes', timeoutMs: 30_000 });
  const pool = testPool(databaseUrl, 4);
  const metrics = createMetrics();
  const log = pino({ level: 'silent' });
  const eventRecorder = new EventRecorder(kube, { component: 'wipes', instance: 'wipes', log, metrics: metrics.kube });
  /** How often each thing has happened. */
  const counts = new Map<string, number>();

  atEnd(async () => {
    await eventRecorder.flush();
    await Promise.all([client.close(), operatorsClient.close(), kube.close(), operatorsKube.close(), pool.end()]);
    await api.stop();
  });

  return {
    namespace,
    client,
    kube,
    operatorsClient,
    operatorsKube,
    metrics,
    log,
    eventRecorder,
    counts,
    count: (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1),
    /** Newest first. */
    async credentialsDescribed(prefix: string): Promise<string[]> {
      const text = 'select id from credentials where starts_with(description, $1) order by id desc';
      return (await pool.query<{ id: string }>(text, [prefix])).rows.map(({ id }) => id);
    },
    async tokenIn(secret: string): Promise<string> {
      const { data } = await kube.get(SECRETS, secret, namespace);
      const [, encoded] = Object.entries(data ?? {}).find(([key]) => key === 'token') ?? [];
      return Buffer.from(String(encoded), 'base64').toString();
    },
  };
}

/** A freshly started operator. Its caches hold only what it has looked at. */
export class LateOperator {
  readonly reconciler: ManagedReconciler;
  readonly #world: World;
  readonly #cache: WatchCache;
  readonly #secrets: SecretCache;

  constructor(world: World) {
    const { namespace, operatorsKube: kube, metrics, log, eventRecorder } = world;
    const common = { namespaces: [namespace], silenceMs: 60_000, log, metrics: metrics.kube };
    this.#world = world;
    this.#secrets = new SecretCache(kube, common);
    const access = new SecretAccess(kube, this.#secrets, () => true);
    const kind = new ConnectedKind(tunnelCredentialKind, world.operatorsClient, access, noInputs());
    this.#cache = new WatchCache(kube, { ...common, type: CREDENTIALS, transform: (object) => named(slim(object)) });
    const claims = new Claims(kind, this.#cache.store);
    this.#cache.addHandler(claims);
    this.reconciler = new ManagedReconciler({
      kind,
      claims,
      connections: oneConnection(world.operatorsClient),
      kube,
      cluster: { id: 'here', takesOverFrom: [] },
      dnsEndpoints: new DnsEndpoints(kube, common),
      cache: this.#cache,
      eventRecorder,
      metrics: metrics.managed,
      mayAdopt: () => true,
      mayHandOutUserRights: true,
      reissueBackoff: new ReissueBackoff(),
    });
  }

  objectNamed(name: string): KubeObject | undefined {
    return this.#cache.store.get(`${this.#world.namespace}/${name}`);
  }

  /** Updates its caches with the object and its Secret. */
  async look(name: string): Promise<void> {
    await Promise.all([this.#see(this.#cache, CREDENTIALS, name), this.#see(this.#secrets.watch, SECRETS, name)]);
  }

  async #see(cache: WatchCache, type: ResourceType, name: string): Promise<void> {
    const { kube, namespace } = this.#world;
    const found = await kube.find(type, name, namespace);
    const known = cache.store.get(`${namespace}/${name}`);
    if (known && known.metadata.uid !== found?.metadata.uid) cache.observeDelete(known);
    if (found) cache.observe(found);
  }
}

function named(object: KubeObject): KubeObject {
  return { ...object, kind: 'TunnelCredential', apiVersion: `${GROUP}/${VERSION}` };
}
