/**
 * The operator: which kinds it runs, how it starts and how it stops.
 *
 * `@dot-i/k8s-operator` gives the outer shell (construct, `init`, `start`, `stop`). What it does with Kubernetes itself is
 * replaced; each override below says why.
 */
import { setTimeout as delay } from 'node:timers/promises';
import operatorLibrary, { type ResourceMeta } from '@dot-i/k8s-operator';
import { KubeConfig } from '@kubernetes/client-node';
import type { Logger } from 'pino';
import { type Client, createClient } from '../client/client.ts';
import { GROUP, VERSION } from './contract/names.ts';
import { ApiBudget } from './controller/api-budget.ts';
import { Controller } from './controller/controller.ts';
import { type HealthServer, startHealthServer } from './controller/health-server.ts';
import { createMetrics } from './controller/metrics.ts';
import { kinds } from './kinds/kinds.ts';
import { EventRecorder } from './kube/event-recorder.ts';
import { KubeApi } from './kube/kube-api.ts';
import type { KubeObject } from './kube/kube-object.ts';
import { LeaderElection } from './kube/leader-election.ts';
import type { Remote } from './managed/external.ts';
import type { AnyKind, SecretAccess } from './managed/kind.ts';
import { ManagedReconciler } from './managed/reconciler.ts';
import { SECRETS, SecretCache } from './managed/secrets/secret-cache.ts';
import { type ManagedSpec, readSpec } from './managed/spec.ts';
import type { OperatorConfig } from './settings.ts';

const NAME = 'tunnel-operator';
/** A cache that has not heard of the API server for this many silence deadlines makes the process unready. */
const SILENCES_UNTIL_STALE = 2;

type AnyController = Controller<ManagedSpec, Remote>;

// The library is CommonJS: its default export is a member of what an import gets.
export class TunnelOperator extends operatorLibrary.default {
  readonly #config: OperatorConfig;
  readonly #log: Logger;
  readonly #metrics = createMetrics();
  readonly #kube: KubeApi;
  readonly #leaderKube: KubeApi;
  readonly #budget: ApiBudget;
  readonly #client: Client;
  readonly #events: EventRecorder;
  readonly #secrets: SecretCache;
  readonly #election: LeaderElection;
  readonly #controllers = new Map<string, AnyController>();
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
    this.#kube = this.#makeKubeApi(config.kubeTimeoutMs);
    this.#leaderKube = this.#makeKubeApi(config.leaseMs / 2);
    this.#budget = new ApiBudget(config.apiConcurrency);
    this.#client = this.#makeClient();
    this.#events = new EventRecorder(this.#kube, {
      component: NAME,
      instance: config.identity,
      log,
      onDropped: (reason) => this.#metrics.eventsDropped.inc({ reason }),
    });
    this.#secrets = this.#makeSecretCache();
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

  /** Where `/metrics` and the probes are, once started. */
  get healthUrl(): string | undefined {
    return this.#health?.url;
  }

  /** Resolves when the lead was lost: the process must end, since another may be at work. */
  get lostLead(): Promise<void> {
    return this.#lost.promise;
  }

  protected override async init(): Promise<void> {
    for (const kind of kinds) this.#controllers.set(kind.kind, this.#makeController(kind));
  }

  /** Resolves when the caches are filled and, with leader election, this process has the lead and works. */
  override async start(): Promise<void> {
    await super.start();
    this.#health = await startHealthServer({
      host: this.#config.host,
      port: this.#config.port,
      registry: this.#metrics.registry,
      beforeScrape: () => this.#readGauges(),
      problems: () => this.#problems(),
    });
    this.#log.info({ url: this.#health.url }, 'serving metrics and probes');
    await Promise.all(this.#caches().map(({ cache }) => cache.start()));
    this.#state = 'standing-by';
    if (this.#config.leaderElect) {
      const isLeading = await this.#election.acquire(() => this.#lost.resolve());
      if (!isLeading) return;
    }
    this.#state = 'leading';
    for (const controller of this.#controllers.values()) controller.start();
    this.#log.info({ kinds: [...this.#controllers.keys()] }, 'reconciling');
  }

  /** Finishes the reconciles under way, for at most the shutdown timeout, then lets go of everything. */
  override async stop(): Promise<void> {
    this.#state = 'stopping';
    // A pause that the API asked for may outlast every timeout.
    this.#budget.close();
    const finished = Promise.all([...this.#controllers.values()].map((controller) => controller.stop()));
    const isDone = await Promise.race([
      finished.then(() => true),
      delay(this.#config.shutdownMs, false, { ref: false }),
    ]);
    if (!isDone) {
      this.#log.warn('the shutdown timeout has passed; breaking off the reconciles under way');
      // Before the lease is handed over: the next leader may work on the same objects.
      await Promise.all([this.#client.destroy(), this.#kube.close()]);
    }
    await Promise.race([this.#events.flush(), delay(2_000, undefined, { ref: false })]);
    await this.#election.release();
    await Promise.all(this.#caches().map(({ cache }) => cache.stop()));
    await Promise.all([this.#client.destroy(), this.#kube.close(), this.#leaderKube.close(), this.#health?.close()]);
    this.#log.info('stopped');
  }

  /** Not inherited: it watches without listing, runs all events one by one and exits the process on an error. */
  protected override watchResource(): Promise<void> {
    throw new Error('use a Controller, whose WatchCache lists, resumes and never exits');
  }

  /** Not inherited: it logs a failed write and goes on as if it had been made. */
  protected override setResourceStatus(_meta: ResourceMeta): Promise<ResourceMeta | null> {
    throw new Error('use Work.patchStatus, which fails when the write fails');
  }

  /** Not inherited: it logs a failed write and goes on as if it had been made. */
  protected override patchResourceStatus(_meta: ResourceMeta): Promise<ResourceMeta | null> {
    throw new Error('use Work.patchStatus, which fails when the write fails');
  }

  /** Not inherited: it replaces the finalizers without a version check and ignores a failed write. */
  protected override setResourceFinalizers(_meta: ResourceMeta): Promise<void> {
    throw new Error('use Work.persist and Work.removeFinalizer, which fail on a conflict');
  }

  /** Not inherited: it goes through setResourceFinalizers and acts on the event instead of the newest object. */
  protected override handleResourceFinalizer(): Promise<boolean> {
    throw new Error('use ManagedReconciler, which finalizes the newest version of the object');
  }

  #makeController(kind: AnyKind): AnyController {
    const { plural } = kind;
    const external = kind.external(this.#client);
    const delivery = kind.delivery?.(this.#secretAccess());
    const parseSpec = (object: KubeObject): ManagedSpec => readSpec(kind.spec, object);
    const type = { group: GROUP, version: VERSION, plural };
    const metrics = this.#metrics;
    return new Controller(
      {
        kind: kind.kind,
        type,
        kube: this.#kube,
        namespace: this.#config.namespace,
        concurrency: this.#config.concurrency,
        resyncMs: this.#config.resyncMs,
        silenceMs: this.#config.silenceMs,
        metrics,
        log: this.#log,
      },
      {
        external,
        parseSpec,
        describe: kind.describe,
        looksHeld: (object, spec) => delivery?.looksHeld(object, spec) ?? true,
      },
      (controller) =>
        new ManagedReconciler({
          writer: {
            kind: kind.kind,
            type,
            kube: this.#kube,
            events: this.#events,
            observeWrite: (written) => controller.cache.observe(written),
            now: () => new Date(),
          },
          external,
          delivery,
          parseSpec,
          describe: kind.describe,
          rivalOf: controller.rivalOf,
          onDriftCorrected: () => metrics.driftFound.inc({ kind: kind.kind }),
          onIssued: (cause) => metrics.credentialsIssued.inc({ cause }),
        }),
    );
  }

  #secretAccess(): SecretAccess {
    return {
      kube: this.#kube,
      cached: (namespace, name) => this.#secrets.get(namespace, name),
      ownedBy: (uid) => this.#secrets.ownedBy(uid),
      observeWrite: (written) => this.#secrets.cache.observe(written),
      observeDelete: (deleted) => this.#secrets.cache.observeDelete(deleted),
    };
  }

  #makeSecretCache(): SecretCache {
    return new SecretCache(this.#kube, {
      namespace: this.#config.namespace,
      silenceMs: this.#config.silenceMs,
      log: this.#log,
      onChange: (owner) => this.#controllers.get(owner.kind)?.touch(`${owner.namespace}/${owner.name}`),
      onActivity: (activity) => this.#metrics.watchActivity.inc({ resource: SECRETS.plural, activity }),
    });
  }

  #makeKubeApi(timeoutMs: number): KubeApi {
    return new KubeApi(this.kubeConfig, {
      userAgent: NAME,
      timeoutMs,
      onRequest: ({ method, code, host, seconds }) => {
        this.#metrics.kubeRequests.inc({ method, code, host });
        this.#metrics.kubeRequestTime.observe({ verb: method, host }, seconds);
      },
    });
  }

  #makeClient(): Client {
    return createClient({
      baseUrl: this.#config.apiUrl,
      apiKey: this.#config.apiKey,
      timeoutMs: this.#config.apiTimeoutMs,
      // The work queue retries, with a backoff per object.
      retries: 0,
      connections: this.#config.apiConcurrency,
      userAgent: NAME,
      admit: this.#budget.admit,
      onAttempt: ({ method, status, seconds }) => {
        this.#metrics.apiRequests.inc({ method, code: status === undefined ? '<error>' : String(status) });
        this.#metrics.apiRequestTime.observe({ method }, seconds);
      },
    });
  }

  #caches() {
    const named = [...this.#controllers].map(([name, { cache }]) => ({ name, cache }));
    return [...named, { name: 'Secret', cache: this.#secrets.cache }];
  }

  #problems(): string[] {
    const limit = this.#config.silenceMs * SILENCES_UNTIL_STALE;
    const stale = this.#caches().flatMap(({ name, cache }) => {
      const staleness = cache.staleness();
      if (staleness === undefined) return [`${name}: not listed yet`];
      return staleness > limit ? [`${name}: the watch was last heard of ${Math.round(staleness / 1000)} s ago`] : [];
    });
    return this.#state === 'stopping' ? ['stopping', ...stale] : stale;
  }

  #readGauges(): void {
    for (const controller of this.#controllers.values()) controller.readGauges();
    const staleness = this.#secrets.cache.staleness() ?? 0;
    this.#metrics.watchStaleness.set({ resource: SECRETS.plural }, staleness / 1000);
    this.#metrics.leader.set({ name: NAME }, this.#state === 'leading' ? 1 : 0);
  }
}

function loadKubeConfig(file: string | undefined): KubeConfig {
  const config = new KubeConfig();
  // The variable may hold several paths, which only loadFromDefault merges.
  if (file === undefined || file === process.env.KUBECONFIG) config.loadFromDefault();
  else config.loadFromFile(file);
  return config;
}
