/** The caches beside those of the kinds: Secrets, what objects refer to, and where ExternalDNS reads. */

import type { Logger } from 'pino';
import { EnqueueCrossing, EnqueueReferrers } from './controller/input-handlers.ts';
import type { KubeApi } from './kube/kube-api.ts';
import type { KubeObject } from './kube/kube-object.ts';
import type { KubeMetrics } from './kube/metrics.ts';
import { NamespacePresence } from './kube/namespace-presence.ts';
import { SelectedNamespaces } from './kube/selected-namespaces.ts';
import { WatchCache, type WatchCacheOptions } from './kube/watch-cache.ts';
import { digester } from './managed/declaration/digest.ts';
import { Inputs } from './managed/knowledge/inputs.ts';
import { REFERENCE_GRANTS } from './managed/knowledge/reference-grants.ts';
import { ReferenceIndex } from './managed/knowledge/reference-index.ts';
import { SourceCache } from './managed/knowledge/source-cache.ts';
import { DnsEndpoints } from './managed/object/dns-endpoint.ts';
import { SecretCache } from './managed/secrets/secret-cache.ts';
import type { OperatorConfig } from './settings.ts';

export type NamedCache = readonly [name: string, cache: WatchCache];
export type Scope = Pick<WatchCacheOptions, 'namespaces' | 'presence' | 'isWatched' | 'isListed'>;

export class SharedCaches {
  /** Which namespaces every cache covers. */
  readonly scope: Scope;
  readonly presence: NamespacePresence;
  readonly secrets: SecretCache;
  readonly dnsEndpoints: DnsEndpoints;
  readonly inputs: Inputs;
  readonly grants: WatchCache;
  readonly sources: SourceCache;
  /** To be set before anything is resolved. */
  connectionOf: (object: KubeObject) => string = () => '';
  /** Undefined without a selector. */
  readonly #selected: SelectedNamespaces | undefined;

  constructor(kube: KubeApi, config: OperatorConfig, { log, metrics }: { log: Logger; metrics: KubeMetrics }) {
    const { namespaces, namespaceSelector, silenceMs } = config;
    this.presence = new NamespacePresence(kube, { log, metrics });
    this.#selected =
      namespaceSelector && new SelectedNamespaces(kube, String(namespaceSelector), { silenceMs, log, metrics });
    const { isWatched, isListed } = this.#selected ?? {};
    this.scope = { namespaces, presence: this.presence, isWatched, isListed };
    const watch = { ...this.scope, silenceMs, log, metrics };
    this.secrets = new SecretCache(kube, watch);
    this.dnsEndpoints = new DnsEndpoints(kube, watch);
    const index = new ReferenceIndex();
    this.sources = new SourceCache(kube, { ...watch, isUsed: (key) => index.referrersOf(key).size > 0 });
    this.grants = new WatchCache(kube, { ...watch, type: REFERENCE_GRANTS, isOptional: true });
    this.inputs = new Inputs({
      index,
      sources: this.sources,
      grants: this.grants.store,
      grantsGap: (namespace) => this.grants.gapIn(namespace),
      catchUpOnGrants: (namespace) => this.grants.catchUp(namespace),
      unwatched: (namespace) => this.grants.unwatched(namespace),
      connectionOf: (object) => this.connectionOf(object),
      digest: digester(config.apiKey),
    });
  }

  /** Those that readiness and metrics know. */
  get named(): readonly NamedCache[] {
    return [
      ['Secret', this.secrets.watch],
      ...this.sources.watches.map(([kind, cache]): NamedCache => [`${kind} metadata`, cache]),
      ['ReferenceGrant', this.grants],
      ...(this.#selected ? [['Namespace', this.#selected.watch] satisfies NamedCache] : []),
    ];
  }

  /**
   * Fills these caches and those of the kinds, in an order in which each finds what it needs to decide what to keep.
   * @param joined called for each namespace that is watched later, once it is listed
   */
  async fill(kinds: readonly WatchCache[], joined: (namespace: string) => void): Promise<void> {
    const followers = [...kinds, ...this.all].filter((cache) => cache !== this.#selected?.watch);
    await this.#selected?.start(followers, (namespace) => {
      joined(namespace);
      // Objects elsewhere may refer to what turns out not to exist.
      new EnqueueCrossing(this.inputs).enqueue(namespace);
    });
    await Promise.all([...kinds.map((cache) => cache.start()), this.secrets.watch.start()]);
    await this.secrets.watch.filled;
    // After the kinds: only objects that are referred to are kept.
    await Promise.all([...this.sources.watches.map(([, watch]) => watch.start()), this.grants.start()]);
    // The start does not wait for ExternalDNS.
    void this.dnsEndpoints.watch.start();
  }

  /** Requeues objects when a source or a grant that they refer to changes. */
  enqueueReferrers(): void {
    const readBy = () => this.sources.readBy;
    for (const [kind, watch] of this.sources.watches) watch.addHandler(new EnqueueReferrers(kind, this.inputs, readBy));
    const crossing = new EnqueueCrossing(this.inputs);
    this.grants.addHandler(crossing);
    // Requeue objects blocked while ReferenceGrants were not listed.
    if (this.grants.staleness() === undefined) void this.grants.filled.then(() => crossing.enqueue());
  }

  get all(): readonly WatchCache[] {
    return [...this.named.map(([, cache]) => cache), this.dnsEndpoints.watch];
  }
}
