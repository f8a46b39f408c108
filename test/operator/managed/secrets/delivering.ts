/** A SecretDelivery in a cluster with the given Secrets, and what a test looks at. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { type KubeObject, kubeObject } from '../../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../../src/operator/kube/metrics.ts';
import { handout } from '../../../../src/operator/managed/declaration/handout.ts';
import { type SecretSpec, secretBody } from '../../../../src/operator/managed/secrets/content.ts';
import { decode, encodedData } from '../../../../src/operator/managed/secrets/data.ts';
import { SecretAccess } from '../../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../../src/operator/managed/secrets/secret-cache.ts';
import { SecretDelivery } from '../../../../src/operator/managed/secrets/secret-delivery.ts';
import { object } from '../../objects.ts';
import { type Policy, placing } from '../placing.ts';

export const about = { what: 'token', key: 'token', member: 'token', type: 'authtoken' as const };
export const oneTime = handout({ name: 'credential' }, { ...about, isOneTime: true });
export const everyTime = handout({ name: 'credential' }, { ...about, isOneTime: false });
export const spec: SecretSpec = { secret: { key: 'token' } };
/** Of a kind that no cluster has, so that garbage collection does not look for the owner of its Secrets. */
export const credential = (fields: Parameters<typeof object>[0] = {}) =>
  object({ name: 'cred', uid: 'u1', kind: 'Credential', ...fields }, { externalId: 'cr_1' });
export const remote = { id: 'cr_1', uri: 'https://api.test/credentials/cr_1' };
export const fresh = { ...remote, token: 't0ken' };

/** A Secret as the operator writes it under this name, with changes by hand. */
export function written(name = 'cred', more: Parameters<typeof object>[0] = {}): KubeObject {
  const body = secretBody(oneTime, credential(), { secret: { ...spec.secret, name } }, { id: 'cr_1', value: 't0ken' });
  const metadata = { ...object({ uid: `uid-of-${name}` }).metadata, ...body.metadata, ...more.metadata };
  return kubeObject.parse({ ...body, ...more, metadata });
}
export const released = { metadata: { ownerReferences: [] } };
export const strangers = { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Other', name: 'x', uid: 'u9' }] } };

export interface Circumstances {
  /** The Secrets in the cluster. */
  secrets?: KubeObject[];
  /** Those in the cache; the same, by default. */
  cached?: KubeObject[];
  policy?: Policy;
  of?: typeof oneTime;
  mayAdopt?: boolean;
  exists?: boolean;
}

export async function delivering(circumstances: Circumstances = {}) {
  const { secrets = [], cached = secrets, policy, of = oneTime, mayAdopt = true, exists = true } = circumstances;
  const cluster = await placing({ secrets }, policy);
  const { kube, namespace } = cluster;
  const metrics = createKubeMetrics(new Registry(), 'tests');
  const cache = new SecretCache(kube, { silenceMs: 60_000, log: pino({ enabled: false }), metrics });
  const there = ({ metadata, ...rest }: KubeObject) => ({ ...rest, metadata: { ...metadata, namespace } });
  for (const secret of cached) cache.watch.observe(there(cluster.known(secret)));
  const access = new SecretAccess(kube, cache, (where) => mayAdopt && where === namespace);
  const delivery = new SecretDelivery({ handout: of, renewal: () => ({}) }, access, async () => exists);
  const find = (name: string) => cluster.find('secrets', name);
  return {
    access,
    cluster,
    delivery,
    find,
    to: (fields: Parameters<typeof object>[0] = {}) => there(credential(fields)),
    tokenIn: async (name: string) => decode(encodedData((await find(name)) ?? object()).token ?? ''),
    deliver: (given: object, by = spec, to = there(credential())) =>
      delivery.deliver({ object: to, mustBeNewest: async () => {} }, by, { ...remote, ...given }),
  };
}
