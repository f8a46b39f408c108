/**
 * The operator: which kinds it runs, how it starts and how it stops.
 *
 * `@dot-i/k8s-operator` provides the outer shell (construct, `init`, `start`, `stop`). Its own use of Kubernetes is
 * replaced; each override below says why.
 */
import { setTimeout as delay } from 'node:timers/promises';
import operatorLibrary, { type ResourceMeta } from '@dot-i/k8s-operator';
import type { Logger } from 'pino';
import type { Client } from '../client/client.ts';
import { cannotListen } from '../settings/cannot-start.ts';
import { createApiClient } from './api-client.ts';
import { ApiBudget } from './controller/api-budget.ts';
import { Controller } from './controller/controller.ts';
import { type HealthServer, startHealthServer } from './controller/health-server.ts';
import { cacheProblems } from './controller/readiness.ts';
import { kinds } from './kinds/kinds.ts';
import { EventRecorder } from './kube/event-recorder.ts';
import { KubeApi } from './kube/kube-api.ts';
import { loadKubeConfig } from './kube/kube-config.ts';
import { LeaderElection } from './kube/leader-election.ts';
import { ConnectedKind } from './managed/connected-kind.ts';
import { SecretAccess } from './managed/secrets/secret-access.ts';
import { SECRETS, SecretCache } from './managed/secrets/secret-cache.ts';
import { createMetrics } from './metrics.ts';
import type { OperatorConfig } from './settings.ts';

const NAME = 'tunnel-operator';

// The library is CommonJS: an import wraps its default export.
export class TunnelOperator extends operatorLibrary.default {
  readonly #config: OperatorConfig;
  readonly #log: Logger;
  readonly #metrics = createMetrics();
  readonly #kube: KubeApi;
  readonly #leaderKube: KubeApi;
  readonly #budget: ApiBudget;
  readonly #client: Client;
  readonly #eventRecorder: EventRecorder;
  readonly #secrets: SecretCache;
  readonly #election: LeaderElection;
  #controllers: readonly Controller[] = [];
  readonly #lost = Promise.withResolvers<void>();
  #health: HealthServer | undefined;
  #state: 'starting' | 'standing-by' | 'leading' | 'stopping' = 'starting';

  constructor(config: OperatorConfig, log: Logger) {
    super({
      debug: (message) => log.debug(message),
      info: (message) => log.info(message),
      warn: (message) => log.warn(message),
      error: (message) => log.error(message),
    });
    this.#config = config;
    this.#log = log;
    this.kubeConfig = loadKubeConfig(config.kubeconfig);
    const metrics = this.#metrics.kube;
    this.#kube = new KubeApi(this.kubeConfig, { userAgent: NAME, timeoutMs: config.kubeTimeoutMs, metrics });
    this.#leaderKube = new KubeApi(this.kubeConfig, { userAgent: NAME, timeoutMs: config.leaseMs / 2, metrics });
    this.#budget = new ApiBudget(config.apiConcurrency);
    this.#client = createApiClient(config, NAME, this.#budget, this.#metrics);
    this.#eventRecorder = new EventRecorder(this.#kube, { component: NAME, instance: config.identity, log, metrics });
    const { namespace, silenceMs } = config;
    this.#secrets = new SecretCache(this.#kube, { namespace, silenceMs, log, metrics });
    this.#election = new LeaderElection(this.#leaderKube, {
      namespace: config.leaseNamespace,
      name: NAME,
      identity: config.identity,
      leaseMs: config.leaseMs,
      renewDeadlineMs: (config.leaseMs * 2) / 3,
      retryMs: config.leaseMs / 7.5,
      log,
    });
  }

  /** Base URL of `/metrics` and the probes, once started. */
  get healthUrl(): string | undefined {
    return this.#health?.url;
  }

  /** Resolves when leadership is lost: the process must end, since another may already be working. */
  get lostLead(): Promise<void> {
    return this.#lost.promise;
  }

  protected override async init(): Promise<void> {
    const { namespace, concurrency, resyncMs, silenceMs } = this.#config;
    const access = new SecretAccess(this.#kube, this.#secrets);
    this.#controllers = kinds.map(
      (declared) =>
        new Controller(new ConnectedKind(declared, this.#client, access), {
          kube: this.#kube,
          eventRecorder: this.#eventRecorder,
          secrets: this.#secrets,
          namespace,
          concurrency,
          resyncMs,
          silenceMs,
          metrics: this.#metrics,
          log: this.#log,
        }),
    );
  }

  /** Resolves when the caches are filled, this process leads (if leader election is on), and the controllers run. */
  override async start(): Promise<void> {
    await super.start();
    const { host, port } = this.#config;
    this.#health = await startHealthServer({
      host,
      port,
      registry: this.#metrics.registry,
      beforeScrape: () => this.#readGauges(),
      problems: () => this.#problems(),
    }).catch((error) => {
      throw cannotListen(error, { host, port, names: { host: 'METRICS_HOST', port: 'METRICS_PORT' } });
    });
    this.#log.info({ url: this.#health.url }, 'serving metrics and probes');
    await Promise.all(this.#caches().map(({ cache }) => cache.start()));
    this.#state = 'standing-by';
    if (this.#config.leaderElect) {
      const isLeading = await this.#election.acquire(() => this.#lost.resolve());
      if (!isLeading) return;
    }
    this.#state = 'leading';
    for (const controller of this.#controllers) controller.start();
    this.#log.info({ kinds: this.#controllers.map(({ name }) => name) }, 'reconciling');
  }

  /** Waits for the reconciles in progress, at most for the shutdown timeout, then closes everything. */
  override async stop(): Promise<void> {
    this.#state = 'stopping';
    // A pause requested by the API may outlast every timeout.
    this.#budget.close();
    const finished = Promise.all(this.#controllers.map((controller) => controller.stop()));
    const isDone = await Promise.race([
      finished.then(() => true),
      delay(this.#config.shutdownMs, false, { ref: false }),
    ]);
    if (!isDone) {
      this.#log.warn('shutdown timeout reached; aborting the reconciles in progress');
      // Before the lease is released: the next leader may work on the same objects.
      await Promise.all([this.#client.destroy(), this.#kube.close()]);
    }
    await Promise.race([this.#eventRecorder.flush(), delay(2_000, undefined, { ref: false })]);
    await this.#election.release();
    await Promise.all(this.#caches().map(({ cache }) => cache.stop()));
    await Promise.all([this.#client.destroy(), this.#kube.close(), this.#leaderKube.close(), this.#health?.close()]);
    this.#log.info('stopped');
  }

  /** Overridden: it watches without listing, handles all watch events one by one and exits the process on an error. */
  protected override watchResource(): Promise<void> {
    throw new Error('use a Controller, whose WatchCache lists, resumes and never exits');
  }

  /** Overridden: it logs a failed write and carries on as if it had succeeded. */
  protected override setResourceStatus(_meta: ResourceMeta): Promise<ResourceMeta | null> {
    throw new Error('use ManagedObject.patchStatus, which fails when the write fails');
  }

  /** Overridden: it logs a failed write and carries on as if it had succeeded. */
  protected override patchResourceStatus(_meta: ResourceMeta): Promise<ResourceMeta | null> {
    throw new Error('use ManagedObject.patchStatus, which fails when the write fails');
  }

  /** Overridden: it replaces the finalizers without a version check and ignores a failed write. */
  protected override setResourceFinalizers(_meta: ResourceMeta): Promise<void> {
    throw new Error('use ManagedObject.persist and removeFinalizer, which fail on a conflict');
  }

  /** Overridden: it goes through setResourceFinalizers and acts on the watch event instead of the newest object. */
  protected override handleResourceFinalizer(): Promise<boolean> {
    throw new Error('use ManagedReconciler, which finalizes the newest version of the object');
  }

  #caches() {
    const named = this.#controllers.map(({ name, cache }) => ({ name, cache }));
    return [...named, { name: 'Secret', cache: this.#secrets.watch }];
  }

  #problems(): string[] {
    const states = this.#caches().map(({ name, cache }) => {
      return { name, staleness: cache.staleness(), missingRight: cache.missingRight() };
    });
    const stale = cacheProblems(states, this.#config.silenceMs);
    return this.#state === 'stopping' ? ['stopping', ...stale] : stale;
  }

  #readGauges(): void {
    for (const controller of this.#controllers) controller.readGauges();
    const staleness = this.#secrets.watch.staleness() ?? 0;
    this.#metrics.kube.watchStaleness.set({ resource: SECRETS.plural }, staleness / 1000);
    this.#metrics.kube.leader.set({ name: NAME }, this.#state === 'leading' ? 1 : 0);
  }
}
