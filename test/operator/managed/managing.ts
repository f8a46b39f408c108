/**
 * One object as a reconcile has it: between the real API server, and a management API that answers as a test says. Only
 * for test files.
 */
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../../src/client/client.ts';
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { WatchCache } from '../../../src/operator/kube/watch-cache.ts';
import type { CreateScope, External, Remote } from '../../../src/operator/managed/declaration/external.ts';
import { type AnyKind, kind } from '../../../src/operator/managed/declaration/kind.ts';
import { Claims } from '../../../src/operator/managed/knowledge/claims.ts';
import type { Inputs } from '../../../src/operator/managed/knowledge/inputs.ts';
import { ConnectedKind } from '../../../src/operator/managed/object/connected-kind.ts';
import { DnsEndpoints } from '../../../src/operator/managed/object/dns-endpoint.ts';
import { ManagedObject, type ObjectAccess } from '../../../src/operator/managed/object/managed-object.ts';
import { ReissueBackoff } from '../../../src/operator/managed/secrets/reissue-backoff.ts';
import { SecretAccess } from '../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../src/operator/managed/secrets/secret-cache.ts';
import { createMetrics } from '../../../src/operator/metrics.ts';
import { noInputs } from '../inputs.ts';
import { DNS_ENDPOINT, type Plural, type Policy, placing, SAMPLE } from './placing.ts';

/** A management API that has nothing, and lets nothing be made. */
const nothing: External<{ managementPolicy: 'Manage' | 'Observe'; deletionPolicy: 'Delete' | 'Retain' }, Remote> = {
  idPrefix: 'ipp_',
  isId: (id) => id.startsWith('ipp_'),
  observe: async () => undefined,
  create: () => Promise.reject(new Error('nothing is created in this test')),
  changes: () => [],
  immutableChanges: () => [],
  replacingChanges: () => [],
  update: async (remote) => remote,
  delete: async () => 'not found',
  sight: async () => 'everything',
  async *all() {},
  scope: async () => scopeOf(),
  closeScope: async () => scopeOf(),
};

/** What was created for the object, newest last. */
export const scopeOf = (...ids: string[]): CreateScope => ({
  resources: ids.map((id, index) => ({ id, sequence: index + 1 })).reverse(),
  nextSequence: ids.length + 1,
});

export interface Circumstances {
  external?: Partial<typeof nothing>;
  kind?: Partial<AnyKind>;
  inputs?: Inputs;
  /** In the cluster beside the object. */
  others?: readonly KubeObject[];
  secrets?: readonly KubeObject[];
  /** Of other kinds, by their plural. */
  beside?: Partial<Record<Plural, readonly KubeObject[]>>;
  policy?: Policy;
  /** Whether somebody has written the object since it was read. */
  isOutdated?: boolean;
  access?: Partial<ObjectAccess>;
}

/** The test kind in its own API group, in which no operator of another test file looks for objects. */
class SampleKind extends ConnectedKind {
  override readonly type = SAMPLE.type;
  /** What a test declares can also deliver. */
  override readonly delivery: ConnectedKind['delivery'] = this.declared.delivery as never;
}

export async function managing(given: KubeObject, circumstances: Circumstances = {}) {
  const { external, inputs = noInputs(), others = [], secrets = [], beside, isOutdated } = circumstances;
  const { access, policy } = circumstances;
  const metrics = createMetrics();
  const log = pino({ enabled: false });
  const cluster = await placing(
    { samples: [given, ...others], ...(secrets.length > 0 && { secrets }), ...beside },
    policy,
  );
  const object = cluster.known(given);
  const { name } = object.metadata;
  if (isOutdated) await cluster.touch('samples', name);
  const { kube } = cluster;
  const common = { silenceMs: 60_000, log, metrics: metrics.kube };
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'none' });
  onTestFinished(() => client.close());
  const declared = kind({
    kind: SAMPLE.kind,
    shortNames: [],
    description: 'Any.',
    spec: { description: z.string().optional() },
    status: {},
    rules: [],
    printerColumns: [],
    external: () => ({ ...nothing, ...external }),
    describe: () => ({}),
  });
  const secretCache = new SecretCache(kube, common);
  for (const secret of secrets) secretCache.watch.observe(cluster.known(secret));
  const secretAccess = new SecretAccess(kube, secretCache, () => true);
  const connected = new SampleKind({ ...declared, ...circumstances.kind }, client, secretAccess, inputs);
  const cache = new WatchCache(kube, { ...common, type: connected.type });
  const claims = new Claims(connected, cache.store, access?.mayAdopt);
  cache.addHandler(claims);
  for (const each of [given, ...others]) cache.observe(cluster.known(each));
  const eventRecorder = new EventRecorder(kube, { component: 'tests', instance: 'tests', log, metrics: metrics.kube });
  const full: ObjectAccess = {
    kind: connected,
    claims,
    kube,
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
