/** The operator: which kinds it runs, how it starts and how it stops. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ApiUnreachableError, type Client } from '../client/client.ts';
import { ApiClock } from '../client/clock.ts';
import { cannotListen } from '../settings/cannot-start.ts';
import { listenAddress } from '../settings/listen-address.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { createApiClient, latestKey } from './api-client.ts';
import { ApiOwner, OtherOwner } from './api-owner.ts';
import { ClusterIdentity } from './cluster-identity.ts';
import { ConnectedApis } from './connected-apis.ts';
import { ANNOTATION } from './contract/names.ts';
import { ApiBudget } from './controller/api-budget.ts';
import { Controller } from './controller/controller.ts';
import { type HealthServer, startHealthServer } from './controller/health-server.ts';
import { type Readiness, readiness } from './controller/readiness.ts';
import { allKinds } from './kinds/kinds.ts';
import { EventRecorder } from './kube/event-recorder.ts';
import { showForbiddenWatches } from './kube/forbidden-watches.ts';
import { KubeApi } from './kube/kube-api.ts';
import { loadKubeConfig } from './kube/kube-config.ts';
import { LeaderElection, leaseTimes } from './kube/leader-election.ts';
import { LeaseAnnotation } from './kube/lease-annotation.ts';
import { leaseName } from './lease-name.ts';
import { ConnectedKind } from './managed/object/connected-kind.ts';
import { SecretAccess } from './managed/secrets/secret-access.ts';
import { SECRETS } from './managed/secrets/secret-cache.ts';
import { createMetrics } from './metrics.ts';
import { OuterShell } from './outer-shell.ts';
import type { OperatorConfig } from './settings.ts';
import { type NamedCache, SharedCaches } from './shared-caches.ts';

const NAME = 'tunnel-operator';

export class TunnelOperator extends OuterShell {
  readonly #config: OperatorConfig;
  readonly #log: Logger;
  readonly #tracing: Tracing | undefined;
  readonly #metrics = createMetrics();
  readonly #kube: KubeApi;
  readonly #leaderKube: KubeApi;
  readonly #cluster: ClusterIdentity;
  readonly #budget: ApiBudget;
  readonly #ownerClient: Client;
  readonly #owner: ApiOwner;
  readonly #client: Client;
  readonly #eventRecorder: EventRecorder;
  readonly #shared: SharedCaches;
  readonly #apis: ConnectedApis;
  readonly #election: LeaderElection;
  #controllers: readonly Controller[] = [];
  readonly #lost = Promise.withResolvers<void>();
  readonly #stopping = Promise.withResolvers<void>();
  #health: HealthServer | undefined;
  #state: 'starting' | 'standing-by' | 'leading' | 'stopping' = 'starting';

  /** @param tracing stopped with the operator */
  constructor(config: OperatorConfig, log: Logger, tracing?: Tracing) {
    super({
      debug: (message) => log.debug(message),
      info: (message) => log.info(message),
      warn: (message) => log.warn(message),
      error: (message) => log.error(message),
    });
    this.#config = config;
    this.#log = log;
    this.#tracing = tracing;
    this.kubeConfig = loadKubeConfig(config.kubeconfig);
    const metrics = this.#metrics.kube;
    this.#kube = new KubeApi(this.kubeConfig, { userAgent: NAME, timeoutMs: config.kubeTimeoutMs, metrics, tracing });
    this.#leaderKube = new KubeApi(this.kubeConfig, { userAgent: NAME, timeoutMs: config.leaseMs / 2, metrics });
    const { clusterId: given, takeOverFrom: takesOverFrom = [] } = config;
    this.#cluster = new ClusterIdentity(this.#kube, { given, takesOverFrom, log });
    this.#budget = new ApiBudget(config.apiConcurrency);
    const lease = { namespace: config.leaseNamespace, name: leaseName(NAME, config.shardSelector) };
    const clock = new ApiClock();
    // A key that is replaced in its file may have another owner.
    const apiKey = latestKey(config, () => this.#owner.doubt());
    const calls = { userAgent: NAME, budget: this.#budget, metrics: this.#metrics, tracing, clock, apiKey };
    this.#ownerClient = createApiClient(config, { ...calls, onInstallation: (id) => this.#owner.note(id) });
    this.#owner = new ApiOwner({
      client: this.#ownerClient,
      // One Lease for all shards: an object that is handed over to another shard must keep its owner at the API.
      memory: new LeaseAnnotation(this.#leaderKube, { ...lease, name: NAME, annotation: ANNOTATION.apiOwner }),
      accepted: config.acceptNewOwner,
      mayForget: !config.leaderElect,
      recheckMs: 10_000,
      refused: this.#metrics.apiOwnerRefused,
      log,
    });
    const { doubt: onUnauthenticated, recognize: onInstallation } = this.#owner;
    const mayCall = () => this.#mayCall();
    this.#client = createApiClient(config, { ...calls, mayCall, onUnauthenticated, onInstallation });
    this.#eventRecorder = new EventRecorder(this.#kube, { component: NAME, instance: config.identity, log, metrics });
    this.#shared = new SharedCaches(this.#kube, config, { log, metrics });
    this.#apis = new ConnectedApis({
      ...{ config, log, tracing, kube: this.#kube, shared: this.#shared, eventRecorder: this.#eventRecorder },
      metrics: this.#metrics,
      client: this.#client,
      openClient: (parts) =>
        createApiClient(config, { ...calls, ...parts, mayCall, onUnauthenticated, onInstallation }),
      controllers: () => this.#controllers,
    });
    this.#election = new LeaderElection(this.#leaderKube, {
      ...lease,
      identity: config.identity,
      ...leaseTimes(config.leaseMs),
      annotations: () => this.#owner.annotations,
      log,
    });
  }

  /** Base URL of `/metrics` and the probes, once started. */
  get healthUrl(): string | undefined {
    return this.#health?.url;
  }

  /** Resolves when leadership is lost, or when the API key turns out to be another owner's: the process must end. */
  get lostLead(): Promise<void> {
    return this.#lost.promise;
  }

  protected override async init(): Promise<void> {
    const { shardSelector, concurrency, resyncMs, silenceMs, adoptNamespaces, allowUserApiKeys } = this.#config;
    const mayAdopt = (name: string) => adoptNamespaces === undefined || adoptNamespaces.includes(name);
    const { scope, secrets, dnsEndpoints, inputs } = this.#shared;
    const access = new SecretAccess(this.#kube, secrets, mayAdopt);
    this.#controllers = allKinds.map(
      (declared) =>
        new Controller(new ConnectedKind(declared, this.#client, access, inputs), {
          kube: this.#kube,
          cluster: this.#cluster,
          eventRecorder: this.#eventRecorder,
          connections: declared.isAdministrative ? this.#apis.administrative : this.#apis.connections,
          secrets,
          dnsEndpoints,
          scope,
          isOurs: ({ metadata: { namespace = '', labels } }) =>
            (scope.isListed?.(namespace) ?? true) && (shardSelector?.matches(labels) ?? true),
          concurrency,
          resyncMs,
          silenceMs,
          mayAdopt,
          mayHandOutUserRights: allowUserApiKeys,
          metrics: this.#metrics,
          tracing: this.#tracing,
          log: this.#log,
        }),
    );
  }

  /**
   * Resolves when this process leads (if leader election is on) and the controllers run, or when it is stopped. A kind whose
   * cache cannot be filled, because its CustomResourceDefinition or a permission is missing, starts by itself once it can.
   */
  override async start(): Promise<void> {
    await super.start();
    const { host, port } = this.#config;
    this.#health = await startHealthServer({
      host: listenAddress(host),
      port,
      registry: this.#metrics.registry,
      beforeScrape: () => this.#readGauges(),
      readiness: () => this.#readiness(),
    }).catch((error) => {
      throw cannotListen(error, { host, port, names: { host: 'METRICS_HOST', port: 'METRICS_PORT' } });
    });
    this.#log.info({ url: this.#health.url }, 'serving metrics and probes');
    if (!(await this.#cluster.learn())) return;
    const isUsable = this.#owner.untilUsable();
    // A cache that is stopped is never filled.
    const filling = this.#shared.fill(
      [...this.#controllers.map(({ cache }) => cache), ...this.#apis.caches],
      (namespace) => {
        for (const controller of this.#controllers) controller.join(namespace);
      },
    );
    await Promise.race([filling, this.#stopping.promise]);
    if (this.#state === 'stopping') return;
    this.#state = 'standing-by';
    // Before it leads: a replica with the right key must not have to wait for this one.
    if (!(await isUsable)) return;
    void this.#owner.recheck();
    if (this.#config.leaderElect) {
      const isLeading = await this.#election.acquire(() => this.#lost.resolve());
      if (!isLeading) return;
    }
    if (!(await this.#mayReconcile())) return;
    this.#state = 'leading';
    this.#shared.enqueueReferrers();
    this.#apis.start();
    const filled = this.#controllers.filter(({ cache }) => cache.staleness() !== undefined);
    for (const controller of filled) controller.start();
    this.#log.info({ kinds: filled.map(({ name }) => name), cluster: this.#cluster.id }, 'reconciling');
    for (const controller of this.#controllers) if (!filled.includes(controller)) void this.#startLater(controller);
  }

  /** Waits for the reconciles in progress, at most for the shutdown timeout, then closes everything. */
  override async stop(): Promise<void> {
    this.#state = 'stopping';
    this.#stopping.resolve();
    this.#owner.stop();
    this.#cluster.stop();
    // A pause requested by the API may outlast every timeout.
    this.#budget.close(new ApiUnreachableError('not sent: the operator stops'));
    const finished = Promise.all([...this.#controllers, this.#apis].map((each) => each.stop()));
    const unfinished = await Promise.race([
      finished.then(() => undefined),
      delay(this.#config.shutdownMs, 'shutdown timeout reached', { ref: false }),
      this.#lost.promise.then(() => 'another process may be active'),
    ]);
    // Their events are no longer needed, and they would report the end of their connections as a failure.
    const caches = [...this.#controllers.map(({ cache }) => cache), ...this.#apis.caches, ...this.#shared.all];
    const cachesStopped = Promise.all(caches.map((cache) => cache.stop()));
    if (unfinished !== undefined) {
      this.#log.warn(`${unfinished}; aborting the reconciles in progress`);
      // Before the lease is released: the next leader may work on the same objects.
      await Promise.all([this.#destroyClients(), this.#kube.close()]);
    }
    const sent = Promise.all([this.#eventRecorder.flush(), this.#tracing?.stop()]);
    await Promise.race([sent, delay(2_000, undefined, { ref: false })]);
    await this.#election.release();
    await cachesStopped;
    await this.#destroyClients();
    await Promise.all([this.#kube.close(), this.#leaderKube.close(), this.#health?.close()]);
    this.#log.info('stopped');
  }

  async #destroyClients(): Promise<void> {
    await Promise.all([this.#client, this.#ownerClient, this.#apis].map((each) => each.destroy()));
  }

  async #startLater(controller: Controller): Promise<void> {
    await controller.cache.filled;
    if (this.#state !== 'leading') return;
    controller.startLate();
    this.#log.info({ kinds: [controller.name] }, 'reconciling');
  }

  /** False if the API key has become the wrong one while this process stood by. */
  async #mayReconcile(): Promise<boolean> {
    // A standby sends no request that would show a change of the owner.
    this.#owner.doubt();
    const isRemembered = await this.#owner.untilRemembered();
    if (isRemembered || this.#state === 'stopping') return isRemembered;
    await this.#election.release();
    this.#lost.resolve();
    return false;
  }

  async #mayCall(): Promise<void> {
    try {
      await this.#owner.verify();
    } catch (error) {
      if (error instanceof OtherOwner) this.#lost.resolve();
      throw error;
    }
  }

  #readiness(): Readiness {
    const state = ([name, cache]: NamedCache) => ({
      name,
      staleness: cache.staleness(),
      obstacle: cache.obstacle(),
    });
    const { named, grants, presence } = this.#shared;
    // Only a start needs the grants.
    const needed = named.filter(([, cache]) => cache !== grants || this.#state === 'starting');
    const kinds = [...this.#controllers.map(({ name, cache }) => state([name, cache])), ...this.#apis.named.map(state)];
    const found = readiness(kinds, needed.map(state), this.#config.silenceMs);
    const isChanging = this.#state === 'starting' || this.#state === 'stopping';
    const own = [isChanging ? this.#state : undefined, this.#owner.problem, this.#election.problem];
    return {
      problems: [...own.filter((problem) => problem !== undefined), ...found.problems],
      details: [...found.details, ...presence.skipped],
    };
  }

  #readGauges(): void {
    for (const each of [...this.#controllers, this.#apis]) each.readGauges();
    const named = [...this.#shared.named, ...this.#apis.named].map(([, cache]) => cache);
    showForbiddenWatches([...this.#controllers.map(({ cache }) => cache), ...named], this.#metrics.kube);
    const staleness = this.#shared.secrets.watch.staleness() ?? 0;
    this.#metrics.kube.watchStaleness.set({ resource: SECRETS.plural }, staleness / 1000);
    this.#metrics.kube.leader.set({ name: NAME }, this.#state === 'leading' ? 1 : 0);
  }
}
