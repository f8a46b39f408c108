/** The connections of this cluster, and which object uses which. */
import { z } from 'zod';
import type { Client } from '../../client/client.ts';
import { CONNECTION_KIND } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import { LabelSelector } from '../kube/label-selector.ts';
import type { WatchCache } from '../kube/watch-cache.ts';
import { Blocked } from '../managed/declaration/external.ts';
import { readSpec } from '../managed/declaration/spec.ts';
import { type ConnectionName, OPERATORS_OWN, writeConnection } from '../managed/identity/recorded-connection.ts';
import { isDeleting } from '../managed/identity/recorded-status.ts';
import type { ObjectConnection, ObjectConnections } from '../managed/object/object-connections.ts';
import { chooseConnection, isByDefault, type KnownConnections, usedConnection } from './connection-choice.ts';
import {
  apiConnectionKind,
  type ConnectionKind,
  clusterApiConnectionKind,
  namespaceSelector,
} from './connection-kinds.ts';
import type { ConnectionUrls } from './connection-url.ts';
import { type ClientParts, type ConnectionCheck, notReady, OpenConnection } from './open-connection.ts';

type KindName = ConnectionKind['kind'];

export interface ConnectionsOptions {
  /** With the operator's own API key. */
  own: ObjectConnection;
  /** A client that makes no call. */
  refusing: Client;
  isRequired: boolean;
  /** The APIConnections, and the ClusterAPIConnections and namespaces, if the operator may work in all namespaces. */
  caches: { own: WatchCache; shared: WatchCache | undefined; namespaces: WatchCache | undefined };
  urls: ConnectionUrls;
  /** Concurrent calls of each connection. */
  most: number;
  openClient(parts: ClientParts): Client;
  /** All objects of all kinds. */
  objects(): Iterable<{ kind: string; object: KubeObject }>;
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
      return this.#opened(chosen.kind, found);
    } catch (problem) {
      if (!(problem instanceof Blocked)) throw problem;
      // Objects without a connection share nothing.
      return { key: `none ${object.metadata.uid}`, record: undefined, client: refusing, problem };
    }
  }

  async catchUp(object: KubeObject): Promise<void> {
    if (!isByDefault(object)) return;
    const { own, shared, namespaces } = this.#options.caches;
    const { namespace = '' } = object.metadata;
    await Promise.all([own.catchUp(namespace), shared?.catchUp('')]);
    if (shared?.store.size && !namespaces?.store.get(namespace)) await namespaces?.catchUp('');
  }

  #opened(kind: KindName, object: KubeObject): OpenConnection {
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
    if (known?.object.metadata.uid === uid && known.object.metadata.generation === generation) return known;
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
  }

  /** The objects that have, or may have, a resource that was created through the connection. */
  *usersOf(kindName: KindName, connection: KubeObject): Generator<string> {
    for (const { kind, object } of this.#options.objects()) {
      if (usedConnection(object) !== undefined && this.mayUse(kindName, connection, object))
        yield `${kind} ${keyOf(object)}`;
    }
  }

  /** Whether the object uses the connection, or uses none so far. */
  mayUse(kindName: KindName, { metadata: { namespace, name } }: KubeObject, object: KubeObject): boolean {
    if (namespace !== undefined && namespace !== object.metadata.namespace) return false;
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
      selecting: () => {
        const all = [...(caches.shared?.store.values() ?? [])];
        return all.filter((each) => this.#selects(each, namespace)).map(({ metadata }) => metadata.name);
      },
      gap: () => {
        const gap = gapIn(caches.own, namespace) ?? gapIn(caches.shared, namespace);
        const usesLabels = caches.shared !== undefined && caches.shared.store.size > 0;
        return gap ?? (usesLabels ? gapIn(caches.namespaces, namespace) : undefined);
      },
    };
  }

  #find({ kind, name }: ConnectionName, namespace: string | undefined): KubeObject | undefined {
    const { own, shared } = this.#options.caches;
    return kind === CONNECTION_KIND.own ? own.store.get(`${namespace}/${name}`) : shared?.store.get(name);
  }

  #selects({ spec }: KubeObject, namespace: string): boolean {
    const labels = this.#options.caches.namespaces?.store.get(namespace)?.metadata.labels;
    const selector = selecting.safeParse(spec).data?.namespaceSelector;
    return labels !== undefined && selector !== undefined && LabelSelector.fromObject(selector).matches(labels);
  }
}

/** Without its CustomResourceDefinition, there are none. */
function gapIn(cache: WatchCache | undefined, namespace: string): string | undefined {
  return cache?.obstacle()?.kind === 'missing' ? undefined : cache?.gapIn(namespace);
}

/** As in `APIConnection shop/default`. */
export const connectionKey = (kind: KindName, object: KubeObject) => `${kind} ${keyOf(object)}`;

const selecting = z.object({ namespaceSelector });
