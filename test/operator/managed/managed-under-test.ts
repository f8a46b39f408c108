/**
 * An object under reconcile, between the real API server and a management API in memory. `manage` makes an object of
 * the kind `Thing`, `managing` one of any kind.
 */

import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { createClient } from '../../../src/client/client.ts';
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { ObjectStore } from '../../../src/operator/kube/object-store.ts';
import { WatchCache } from '../../../src/operator/kube/watch-cache.ts';
import type { External, Remote } from '../../../src/operator/managed/declaration/external.ts';
import type { AnyKind } from '../../../src/operator/managed/declaration/kind.ts';
import { type Identity, readIdentity } from '../../../src/operator/managed/identity/identity.ts';
import type { Cluster } from '../../../src/operator/managed/identity/manager.ts';
import { Claims } from '../../../src/operator/managed/knowledge/claims.ts';
import type { Inputs, Peer } from '../../../src/operator/managed/knowledge/inputs.ts';
import { objectKey } from '../../../src/operator/managed/knowledge/reference-index.ts';
import { ConnectedKind } from '../../../src/operator/managed/object/connected-kind.ts';
import { DnsEndpoints } from '../../../src/operator/managed/object/dns-endpoint.ts';
import { ManagedObject, type ObjectAccess } from '../../../src/operator/managed/object/managed-object.ts';
import { oneConnection } from '../../../src/operator/managed/object/object-connections.ts';
import { ReissueBackoff } from '../../../src/operator/managed/secrets/reissue-backoff.ts';
import { SecretAccess } from '../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../src/operator/managed/secrets/secret-cache.ts';
import { createMetrics } from '../../../src/operator/metrics.ts';
import { noInputs } from '../inputs.ts';
import { DNS_ENDPOINT, NAMESPACE, type Plural, type Policy, placing, SAMPLE } from './placing.ts';
import { type ThingKind, Things, thingKind } from './things.ts';

export interface Circumstances {
  external?: Partial<External<never, Remote>>;
  kind?: Partial<AnyKind>;
  inputs?: Inputs;
  /** Other objects of the kind in the cluster. */
  others?: readonly KubeObject[];
  /** Objects of other kinds in the cluster, by plural. */
  beside?: Partial<Record<Plural, readonly KubeObject[]>>;
  policy?: Policy;
  /** Whether another client has written the object since it was read. */
  isOutdated?: boolean;
  access?: Partial<ObjectAccess>;
}

/** The test kind in its own API group, which the operators of other test files do not watch. */
class SampleKind extends ConnectedKind {
  override readonly type = SAMPLE.type;
  /** The declared delivery itself, so that a test can replace it. */
  override readonly delivery: ConnectedKind['delivery'] = this.declared.delivery as never;
}

export async function managing(given: KubeObject, circumstances: Circumstances = {}) {
  const { external, inputs = noInputs(), others = [], beside, isOutdated } = circumstances;
  const { access, policy } = circumstances;
  const metrics = createMetrics();
  const log = pino({ enabled: false });
  const cluster = await placing({ samples: [given, ...others], ...beside }, policy);
  const object = cluster.known(given);
  const { name } = object.metadata;
  if (isOutdated) await cluster.touch('samples', name);
  const { kube } = cluster;
  const common = { silenceMs: 60_000, log, metrics: metrics.kube };
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'none' });
  onTestFinished(() => client.close());
  const things = Object.assign(new Things(), external);
  const declared: AnyKind = { ...thingKind(things), kind: SAMPLE.kind, ...circumstances.kind };
  const secretCache = new SecretCache(kube, common);
  const connected = new SampleKind(declared, client, new SecretAccess(kube, secretCache, () => true), inputs);
  const cache = new WatchCache(kube, { ...common, type: connected.type });
  const claims = new Claims(connected, cache.store, access?.mayAdopt);
  cache.addHandler(claims);
  for (const each of [given, ...others]) cache.observe(cluster.known(each));
  const eventRecorder = new EventRecorder(kube, { component: 'tests', instance: 'tests', log, metrics: metrics.kube });
  const full: ObjectAccess = {
    kind: connected,
    claims,
    connections: oneConnection(client),
    kube,
    cluster: { id: 'here', takesOverFrom: [] },
    dnsEndpoints: new DnsEndpoints(kube, { ...common, type: DNS_ENDPOINT.type }),
    cache,
    eventRecorder,
    metrics: metrics.managed,
    mayAdopt: () => true,
    mayHandOutUserRights: true,
    reissueBackoff: new ReissueBackoff(),
    ...access,
  };
  return {
    managed: new ManagedObject(object, full),
    access: full,
    metrics: metrics.managed,
    cluster,
    /** The object as the cluster has it now. */
    stored: () => cluster.get('samples', name),
    /** The Kubernetes Events so far. */
    async events() {
      await eventRecorder.flush();
      return (await cluster.events()).map(({ type, reason, message }) => ({ type, reason, message }));
    },
  };
}

interface Setting extends Pick<Circumstances, 'others' | 'beside' | 'policy' | 'inputs'> {
  things?: Things;
  /** Members of the kind that differ from the default. */
  kind?: Partial<ThingKind>;
  mayAdopt?: boolean;
  cluster?: Cluster;
}

/** @param object as the cache has it; the API server has the same, unless the test changes it there */
export async function manage(object: KubeObject, setting: Setting = {}) {
  const { things = new Things(), kind, mayAdopt = true, cluster: own, inputs = noInputs(), ...circumstances } = setting;
  const { managed, access, cluster, metrics, events, stored } = await managing(object, {
    ...circumstances,
    inputs,
    kind: thingKind(things, kind),
    access: { mayAdopt: () => mayAdopt, ...(own && { cluster: own }) },
  });
  inputs.addPeer('Thing', { store: access.cache.store, enqueue: () => {} });
  const { name } = object.metadata;
  return {
    managed,
    spec: managed.kind.membersOf(object),
    things,
    metrics,
    cluster,
    /** Reason and message of each Event, such as `Created: Created thg_1`. */
    events: async () => (await events()).map(({ reason, message }) => `${reason}: ${message}`),
    /** As the API server has it. */
    object: stored,
    /** Whether the API server has it. */
    exists: async () => (await cluster.find('samples', name)) !== undefined,
    identity: async (): Promise<Identity> => readIdentity(await stored()),
    /** Another client writes the object, but changes nothing that matters. */
    outdate: () => cluster.touch('samples', name),
  };
}

/** Inputs in which `a` refers to these objects of another kind. */
export const owners = (...objects: KubeObject[]) => inputsWith('Owner', objects, false);

/** Inputs in which these objects of another kind refer to `a`. */
export const referrers = (...objects: KubeObject[]) => inputsWith('Other', objects, true);

export function inputsWith(kind: string, objects: readonly KubeObject[], refer: boolean, peer: Partial<Peer> = {}) {
  const inputs = noInputs();
  const store = new ObjectStore();
  const own = objectKey('Thing', NAMESPACE, 'a');
  for (const each of objects) {
    store.put({ ...each, metadata: { ...each.metadata, namespace: NAMESPACE } });
    const key = objectKey(kind, NAMESPACE, each.metadata.name);
    const [from, to] = refer ? [key, own] : [own, key];
    inputs.index.set(from, new Set([to]));
  }
  inputs.addPeer(kind, { store, enqueue: () => {}, ...peer });
  return inputs;
}
