/** The connections of an operator, assembled: their caches, their controllers, and the clients that they open. */
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Client } from '../client/client.ts';
import { ApiClock } from '../client/clock.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { type ApiClientOptions, createApiClient } from './api-client.ts';
import { AccountClients } from './connections/account-clients.ts';
import { ConnectionController } from './connections/connection-controller.ts';
import { apiConnectionKind, type ConnectionKind, clusterApiConnectionKind } from './connections/connection-kinds.ts';
import { ConnectionReconciler } from './connections/connection-reconciler.ts';
import { ConnectionUrls } from './connections/connection-url.ts';
import { Connections, connectionKey, type KnownAccounts, selectorOf } from './connections/connections.ts';
import type { ClientParts } from './connections/open-connection.ts';
import { CONNECTION_KIND } from './contract/names.ts';
import { REASON } from './contract/reasons.ts';
import { ApiBudget } from './controller/api-budget.ts';
import type { Controller } from './controller/controller.ts';
import type { EventRecorder } from './kube/event-recorder.ts';
import type { KubeApi } from './kube/kube-api.ts';
import { type KubeObject, keyOf } from './kube/kube-object.ts';
import { NAMESPACES } from './kube/namespace-presence.ts';
import type { ObjectChange } from './kube/object-store.ts';
import { WatchCache } from './kube/watch-cache.ts';
import { Blocked } from './managed/declaration/external.ts';
import { isDeleting } from './managed/identity/recorded-status.ts';
import { resourceIdOf } from './managed/knowledge/inputs.ts';
import type { ObjectConnections } from './managed/object/object-connections.ts';
import { forgetConnection, type OperatorMetrics } from './metrics.ts';
import type { OperatorConfig } from './settings.ts';
import type { NamedCache, SharedCaches } from './shared-caches.ts';

export interface ConnectedApisOptions {
  config: OperatorConfig;
  kube: KubeApi;
  shared: SharedCaches;
  eventRecorder: EventRecorder;
  metrics: OperatorMetrics;
  tracing: Tracing | undefined;
  log: Logger;
  /** With the operator's own API key. */
  client: Client;
  /** The same, in another account. */
  openClient(parts: Required<Pick<ApiClientOptions, 'account' | 'agent' | 'budget' | 'connection'>>): Client;
  /** Those of all kinds. */
  controllers(): readonly Controller[];
}

const STOPPED = new Blocked(REASON.connectionNotReady, 'not sent: the operator stops');

export class ConnectedApis {
  readonly connections: Connections;
  /** Those that readiness and metrics know. */
  readonly named: readonly NamedCache[];
  readonly #options: ConnectedApisOptions;
  readonly #controllers: readonly ConnectionController[];
  readonly #refusing: Client;
  readonly #urls: ConnectionUrls;
  readonly #accounts: AccountClients;

  constructor(options: ConnectedApisOptions) {
    this.#options = options;
    const { config, client, kube, shared, log, metrics } = options;
    this.#urls = new ConnectionUrls(config.apiUrl, config.connectionUrls ?? []);
    this.#refusing = this.#refusingClient();
    this.#accounts = new AccountClients(({ key, account }) => {
      const budget = new ApiBudget(config.apiConcurrency);
      const opened = options.openClient({ account, budget, agent: this.#urls.ownAgent, connection: key });
      return { client: opened, close: (why) => budget.close(why) };
    });
    const watch = { silenceMs: config.silenceMs, log, metrics: metrics.kube };
    const own = new WatchCache(kube, { ...watch, ...shared.scope, type: apiConnectionKind.type, isOptional: true });
    // Rights in some namespaces do not permit to look at what belongs to none.
    const everywhere =
      config.namespaces !== undefined
        ? undefined
        : {
            shared: new WatchCache(kube, { ...watch, type: clusterApiConnectionKind.type, isOptional: true }),
            namespaces: new WatchCache(kube, { ...watch, type: NAMESPACES, metadataOnly: true }),
          };
    this.connections = new Connections({
      own: { key: '', record: undefined, client },
      refusing: this.#refusing,
      isRequired: config.requireConnection,
      caches: { own, shared: everywhere?.shared, namespaces: everywhere?.namespaces },
      accounts: () => this.#knownAccounts(),
      urls: this.#urls,
      most: config.apiConcurrency,
      openClient: (parts) => this.#openClient(parts),
      forget: (key) => void forgetConnection(metrics, key),
      *objects() {
        for (const { name, cache } of connecting(options.controllers()))
          for (const object of cache.store.values()) yield { kind: name, object };
      },
    });
    shared.connectionOf = (object) => this.connections.of(object).key;
    this.#controllers = [
      this.#controllerOf(apiConnectionKind, own),
      ...(everywhere ? [this.#controllerOf(clusterApiConnectionKind, everywhere.shared)] : []),
    ];
    this.named = [
      ...this.#controllers.map(({ name, cache }): NamedCache => [name, cache]),
      ...(everywhere ? [['Namespace labels', everywhere.namespaces] satisfies NamedCache] : []),
    ];
    // Labels decide which ClusterAPIConnections a namespace has.
    everywhere?.namespaces.addHandler({
      onChange: ({ object: { metadata } }) => this.#enqueueWhere((each) => each.metadata.namespace === metadata.name),
    });
  }

  /** For kinds that have no connections: the operator's own key, and that only in the operator's own namespace. */
  get administrative(): ObjectConnections {
    const { client, config } = this.#options;
    const own = { key: '', record: undefined, client };
    return {
      of: (object) => {
        if (object.metadata.namespace === config.leaseNamespace) return own;
        const message = `an ${object.kind} counts only in the namespace of the operator, ${config.leaseNamespace}: create it there, and delete this one`;
        const problem = new Blocked(REASON.rejected, message);
        return { ...own, key: `elsewhere ${keyOf(object)}`, client: this.#refusing, problem };
      },
      catchUp: async () => {},
      using: (account) => [...this.connections.usersOf(CONNECTION_KIND.account, account)],
    };
  }

  get caches(): readonly WatchCache[] {
    return this.named.map(([, cache]) => cache);
  }

  /** Starts to check the connections. The caches must be filled. */
  start(): void {
    for (const controller of this.#controllers) controller.start();
    const controllers = this.#options.controllers();
    const accounts = controllers.find(isOfAccounts);
    for (const { cache } of connecting(controllers)) {
      cache.addHandler({
        onChange: ({ type }) => {
          if (type !== 'deleted') return;
          for (const controller of this.#controllers) controller.enqueueDeleting();
          accounts?.enqueueWhere(isDeleting);
        },
      });
    }
    accounts?.cache.addHandler({ onChange: (change) => this.#onAccount(change) });
  }

  async stop(): Promise<void> {
    // A pause that an API has asked for may outlast every timeout.
    this.connections.close(STOPPED);
    this.#accounts.close(STOPPED);
    await Promise.all(this.#controllers.map((controller) => controller.stop()));
  }

  /** Aborts the calls in flight. */
  async destroy(): Promise<void> {
    const clients = [this.connections, this.#accounts, this.#refusing];
    await Promise.all(clients.map((each) => each.destroy()));
    await this.#urls.destroy();
  }

  readGauges(): void {
    for (const controller of this.#controllers) controller.readGauges();
  }

  #controllerOf(kind: ConnectionKind, cache: WatchCache): ConnectionController {
    const { config, kube, shared, eventRecorder, metrics, log } = this.#options;
    const { connections } = this;
    // The Secret of a ClusterAPIConnection is where only administrators of the operator write.
    const secretNamespace = ({ metadata }: KubeObject) => metadata.namespace ?? config.leaseNamespace;
    const changed = (connection: KubeObject) => {
      this.#enqueueWhere((object) => connections.mayUse(kind.kind, connection, object));
    };
    const reconciler = new ConnectionReconciler({
      ...{ kind, kube, cache, connections, eventRecorder, secretNamespace, changed },
      sources: shared.sources,
      recheckMs: config.resyncMs,
    });
    return new ConnectionController({
      ...{ kind, cache, connections, reconciler, secretNamespace, changed, log },
      inputs: shared.inputs,
      concurrency: config.concurrency,
      metrics: metrics.controller,
    });
  }

  /** Its objects wait for it to have an id, and for a change of its selector. */
  #onAccount(change: ObjectChange): void {
    const { object } = change;
    if (object.metadata.namespace !== this.#options.config.leaseNamespace) return;
    if (change.type === 'deleted') {
      const key = connectionKey(CONNECTION_KIND.account, object);
      this.#accounts.drop(key);
      void forgetConnection(this.#options.metrics, key);
    }
    if (change.type === 'updated' && isSameConnection(change.previous, object)) return;
    this.#enqueueWhere((each) => this.connections.mayUse(CONNECTION_KIND.account, object, each));
  }

  /** Without labels of namespaces, they select none. */
  #knownAccounts(): KnownAccounts | undefined {
    const { config, shared, controllers } = this.#options;
    const { leaseNamespace: namespace } = config;
    const isWatched = config.namespaces === undefined && shared.scope.isWatched?.(namespace) !== false;
    const controller = isWatched ? controllers().find(isOfAccounts) : undefined;
    return controller && { cache: controller.cache, namespace, clients: this.#accounts };
  }

  #enqueueWhere(isAffected: (object: KubeObject) => boolean): void {
    for (const controller of connecting(this.#options.controllers())) controller.enqueueWhere(isAffected);
  }

  #openClient({ url, mayCall, onTrouble, onInstallation = () => {}, ...parts }: ClientParts): Client {
    const { config, metrics, tracing } = this.#options;
    return createApiClient(
      { ...config, apiUrl: url },
      {
        ...parts,
        ...(mayCall && { mayCall }),
        ...(onTrouble && { onUnauthenticated: onTrouble }),
        onInstallation,
        metrics,
        tracing,
        userAgent: 'tunnel-operator',
      },
    );
  }

  #refusingClient(): Client {
    const { config, metrics, tracing } = this.#options;
    return createApiClient(config, {
      ...{ metrics, tracing, userAgent: 'tunnel-operator', budget: new ApiBudget(1), clock: new ApiClock() },
      onInstallation: () => {},
      mayCall: async () => {
        throw new Blocked(REASON.connectionNotFound, 'no connection to the management API');
      },
    });
  }
}

const isOfAccounts = ({ name }: Controller) => name === CONNECTION_KIND.account;

/** Those of the kinds whose objects use connections. */
const connecting = (controllers: readonly Controller[]) => controllers.filter((each) => !each.isAdministrative);

/** Whether objects that may use the Account see no difference. */
const isSameConnection = (before: KubeObject, after: KubeObject) =>
  isDeepStrictEqual(selectorOf(before), selectorOf(after)) &&
  resourceIdOf(before) === resourceIdOf(after) &&
  isDeleting(before) === isDeleting(after);
