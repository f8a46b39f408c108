/** The connections of this cluster, and which object uses which. */
import { z } from 'zod';
import type { Client } from '../../client/client.ts';
import { CONNECTION_KIND } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import { LabelSelector } from '../kube/label-selector.ts';
import type { WatchCache } from '../kube/watch-cache.ts';
import { Blocked } from '../managed/declaration/external.ts';
import { namespaceSelector } from '../managed/declaration/namespace-selector.ts';
import { readSpec } from '../managed/declaration/spec.ts';
import {
  type ConnectionName,
  OPERATORS_OWN,
  recordOf,
  writeConnection,
} from '../managed/identity/recorded-connection.ts';
import { isDeleting } from '../managed/identity/recorded-status.ts';
import { resourceIdOf } from '../managed/knowledge/inputs.ts';
import type { ObjectConnection, ObjectConnections } from '../managed/object/object-connections.ts';
import type { AccountClients } from './account-clients.ts';
import { chooseConnection, isByDefault, type KnownConnections, usedConnection } from './connection-choice.ts';
import { apiConnectionKind, type ConnectionKind, clusterApiConnectionKind } from './connection-kinds.ts';
import type { ConnectionUrls } from './connection-url.ts';
import { type ClientParts, type ConnectionCheck, notReady, OpenConnection } from './open-connection.ts';

type KindName = ConnectionKind['kind'];
/** Of all connections. */
type AnyKindName = ConnectionName['kind'];

export interface ConnectionsOptions {
  /** With the operator's own API key. */
  own: ObjectConnection;
  /** A client that makes no call. */
  refusing: Client;
  isRequired: boolean;
  /** The APIConnections, and the ClusterAPIConnections and namespaces, if the operator may work in all namespaces. */
  caches: { own: WatchCache; shared: WatchCache | undefined; namespaces: WatchCache | undefined };
  /** Undefined if the operator knows no Accounts of its own namespace, or may not work in all namespaces. */
  accounts(): KnownAccounts | undefined;
  urls: ConnectionUrls;
  /** Concurrent calls of each connection. */
  most: number;
  openClient(parts: ClientParts): Client;
  /** Called with the key of a connection that is gone. */
  forget(key: string): void;
  /** All objects of all kinds. */
  objects(): Iterable<{ kind: string; object: KubeObject }>;
}

/** The Accounts, which are connections only in the operator's own namespace. */
export interface KnownAccounts {
  cache: WatchCache;
  namespace: string;
  clients: AccountClients;
}

export class Connections implements ObjectConnections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<string, OpenConnection>();
  readonly #checks = new Map<KindName, ConnectionCheck>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Says how connections of the kind are checked before they are used. */
  setCheck(kind: KindName, check: ConnectionCheck): void {
    this.#checks.set(kind, check);
  }

  of(object: KubeObject): ObjectConnection {
    const { own, refusing } = this.#options;
    try {
      const chosen = chooseConnection(object, this.#knownIn(object.metadata.namespace ?? ''));
      if (chosen === OPERATORS_OWN) return own;
      const found = this.#find(chosen, object.metadata.namespace);
      if (!found) throw new Blocked(REASON.connectionNotFound, `${writeConnection(chosen)} does not exist`);
      return this.#opened(chosen, found);
    } catch (problem) {
      if (!(problem instanceof Blocked)) throw problem;
      // Objects without a connection share nothing.
      return { key: `none ${object.metadata.uid}`, record: undefined, client: refusing, problem };
    }
  }

  async catchUp(object: KubeObject): Promise<void> {
    if (!isByDefault(object)) return;
    const { own, shared, namespaces } = this.#options.caches;
    const accounts = this.#options.accounts();
    const { namespace = '' } = object.metadata;
    await Promise.all([own.catchUp(namespace), shared?.catchUp(''), accounts?.cache.catchUp(accounts.namespace)]);
    if (this.#usesLabels()) await namespaces?.catchUp('', namespace);
  }

  #opened({ kind, name }: ConnectionName, object: KubeObject): ObjectConnection {
    if (kind === CONNECTION_KIND.account) {
      const account = resourceIdOf(object);
      const clients = this.#options.accounts()?.clients;
      if (account === undefined || !clients) throw notReady(connectionKey(kind, object));
      return clients.of({ key: connectionKey(kind, object), record: recordOf({ kind, name, account }), account });
    }
    try {
      return this.openFor(kind, object);
    } catch (error) {
      if (error instanceof Blocked) throw notReady(connectionKey(kind, object));
      throw error;
    }
  }

  /** The connection as its object declares it now. @throws Blocked for a spec that cannot be used */
  openFor(kindName: KindName, object: KubeObject): OpenConnection {
    const key = connectionKey(kindName, object);
    const known = this.#open.get(key);
    const { uid, generation } = object.metadata;
    if (known?.object.metadata.uid === uid && known.object.metadata.generation === generation) {
      known.object = object;
      return known;
    }
    const kind = kindName === CONNECTION_KIND.own ? apiConnectionKind : clusterApiConnectionKind;
    const opened = this.#openNew(kind, key, object);
    this.#open.set(key, opened);
    if (known) void known.destroy();
    return opened;
  }

  /** Ends the use of a connection whose object is gone. */
  drop(kindName: KindName, object: KubeObject): void {
    const key = connectionKey(kindName, object);
    const known = this.#open.get(key);
    this.#open.delete(key);
    void known?.destroy();
    this.#options.forget(key);
  }

  /** The objects that have, or may have, a resource that was created through the connection. */
  *usersOf(kindName: AnyKindName, connection: KubeObject): Generator<string> {
    for (const { kind, object } of this.#options.objects()) {
      if (usedConnection(object) !== undefined && this.mayUse(kindName, connection, object))
        yield `${kind} ${keyOf(object)}`;
    }
  }

  /** Whether the object uses the connection, or uses none so far. */
  mayUse(kindName: AnyKindName, { metadata: { namespace, name } }: KubeObject, object: KubeObject): boolean {
    if (kindName === CONNECTION_KIND.own && namespace !== object.metadata.namespace) return false;
    const used = usedConnection(object);
    return used === undefined || (used !== OPERATORS_OWN && used.kind === kindName && used.name === name);
  }

  /** The calls that wait fail for this reason. */
  close(why: Error): void {
    for (const connection of this.#open.values()) connection.close(why);
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#open.values()].map((connection) => connection.destroy()));
  }

  #openNew({ kind, spec }: ConnectionKind, key: string, object: KubeObject): OpenConnection {
    const { urls, most, openClient } = this.#options;
    const check = this.#checks.get(kind);
    if (!check) throw new Error(`nothing checks ${kind}`);
    const destination = urls.destinationOf(kind, readSpec(spec, object));
    const record = writeConnection({ kind, name: object.metadata.name });
    return new OpenConnection({ key, record, object, destination, most, openClient, check });
  }

  #knownIn(namespace: string): KnownConnections {
    const { caches, isRequired } = this.#options;
    return {
      isRequired,
      permits: (connection) => {
        const found = this.#find(connection, namespace);
        return found !== undefined && (connection.kind === CONNECTION_KIND.own || this.#selects(found, namespace));
      },
      isLeaving: (connection) => {
        const found = this.#find(connection, namespace);
        return found !== undefined && isDeleting(found);
      },
      selecting: () =>
        this.#selectors()
          .filter(({ object }) => this.#selects(object, namespace))
          .map(({ kind, object }) => ({ kind, name: object.metadata.name })),
      accountOf: (connection) => {
        const found = connection.kind === CONNECTION_KIND.account ? this.#find(connection, namespace) : undefined;
        return found && resourceIdOf(found);
      },
      gap: () => {
        const accounts = this.#options.accounts();
        const ofAccounts = accounts && gapIn(accounts.cache, accounts.namespace);
        const gap = gapIn(caches.own, namespace) ?? gapIn(caches.shared, namespace) ?? ofAccounts;
        return gap ?? (this.#usesLabels() ? gapIn(caches.namespaces, namespace) : undefined);
      },
    };
  }

  #find({ kind, name }: ConnectionName, namespace: string | undefined): KubeObject | undefined {
    const { own, shared } = this.#options.caches;
    if (kind === CONNECTION_KIND.own) return own.store.get(`${namespace}/${name}`);
    if (kind === CONNECTION_KIND.shared) return shared?.store.get(name);
    const accounts = this.#options.accounts();
    return accounts?.cache.store.get(`${accounts.namespace}/${name}`);
  }

  /** The connections that may select namespaces. */
  #selectors(): { kind: AnyKindName; object: KubeObject }[] {
    const shared = [...(this.#options.caches.shared?.store.values() ?? [])];
    const accounts = this.#options.accounts();
    const ofOperator = [...(accounts?.cache.store.values() ?? [])].filter(
      ({ metadata }) => metadata.namespace === accounts?.namespace,
    );
    return [
      ...shared.map((object) => ({ kind: CONNECTION_KIND.shared, object })),
      ...ofOperator.map((object) => ({ kind: CONNECTION_KIND.account, object })),
    ];
  }

  /** Whether the labels of namespaces count. */
  #usesLabels(): boolean {
    return this.#selectors().some(({ object }) => selectorOf(object) !== undefined);
  }

  #selects(object: KubeObject, namespace: string): boolean {
    const labels = this.#options.caches.namespaces?.store.get(namespace)?.metadata.labels;
    const selector = selectorOf(object);
    return labels !== undefined && selector !== undefined && LabelSelector.fromObject(selector).matches(labels);
  }
}

/** Without its CustomResourceDefinition, there are none. */
function gapIn(cache: WatchCache | undefined, namespace: string): string | undefined {
  return cache?.obstacle()?.kind === 'missing' ? undefined : cache?.gapIn(namespace);
}

/** As in `APIConnection shop/default`. */
export const connectionKey = (kind: AnyKindName, object: KubeObject) => `${kind} ${keyOf(object)}`;

const selecting = z.object({ namespaceSelector });
export const selectorOf = ({ spec }: KubeObject) => selecting.safeParse(spec).data?.namespaceSelector;
