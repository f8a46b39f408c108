/** Domains that publish their records: their stories, what must be there of it, and what a cluster needs for it. Only for test files. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { storyRow } from '../../dev/fixtures/story-rows.ts';
import { waitFor } from '../../dev/processes/wait.ts';
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import { KubeError } from '../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';
import { readIdentity } from '../../src/operator/managed/identity/identity.ts';
import { DNS_ENDPOINTS, dnsEndpointCrd } from '../e2e/foreign-crds.ts';
import type { Cast, Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';

const DOMAINS = storyRow('ReservedDomain');

const asking = z.object({ dns: z.object({ publish: z.boolean() }).optional() });

/** Has the cluster serve them. */
export async function installDnsEndpoints({ kube, namespace }: Stage): Promise<void> {
  const crds = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
  await kube.create(crds, dnsEndpointCrd());
  const isFatal = (error: unknown) => !(error instanceof KubeError && (error.isNotFound || error.isThrottled));
  await waitFor('DNSEndpoints to be served', () => kube.list(DNS_ENDPOINTS, { namespace }), { isFatal });
}

/** In sentences, what is wrong with the DNSEndpoints; empty if each domain that asks for one has it, and no other. */
export async function inspectDnsEndpoints(stage: Stage, objects: readonly KubeObject[]): Promise<string[]> {
  const { items } = await stage.kube.list(DNS_ENDPOINTS, { namespace: stage.namespace });
  const domains = objects.filter(({ kind }) => kind === DOMAINS.name);
  const asked = domains.filter(({ spec }) => asking.parse(spec).dns?.publish);
  const lacking = await Promise.all(asked.map((domain) => problemsOf(stage, domain, items)));
  const isOf = (endpoint: KubeObject, domain: KubeObject) =>
    endpoint.metadata.ownerReferences?.some(({ uid }) => uid === domain.metadata.uid) ?? false;
  // What belongs to nobody any more is collected by Kubernetes in its own time.
  const living = items.filter((endpoint) => domains.some((domain) => isOf(endpoint, domain)));
  const left = living.filter((endpoint) => !asked.some((domain) => isOf(endpoint, domain)));
  return [...lacking.flat(), ...left.map(({ metadata }) => `DNSEndpoint ${metadata.name} is left over`)];
}

async function problemsOf(stage: Stage, domain: KubeObject, items: readonly KubeObject[]): Promise<string[]> {
  const { name, uid } = domain.metadata;
  const endpoint = items.find(({ metadata }) => metadata.name === name);
  if (!endpoint) return [`${name} has no DNSEndpoint`];
  const id = readIdentity(domain).externalId ?? '';
  const remote = await stage.client.reservedDomains.get(id).catch(() => undefined);
  if (!remote) return [`${name} has no domain in the API`];
  const spec = { endpoints: [{ dnsName: remote.domain, recordType: 'CNAME', targets: [remote.cname_target] }] };
  const owners = endpoint.metadata.ownerReferences?.map((owner) => owner.uid);
  return [
    ...(isDeepStrictEqual(endpoint.spec, spec) ? [] : [`${name} publishes ${JSON.stringify(endpoint.spec)}`]),
    ...(isDeepStrictEqual(owners, [uid]) ? [] : [`${name} does not own its DNSEndpoint alone`]),
  ];
}

async function declare({ stage, each }: Cast, own: object): Promise<void> {
  for (const { kind, name, row, n } of each) {
    const { least } = await stage.declare(row, n);
    await stage.apply({ kind, name, ...least, spec: { ...least.spec, ...own } });
  }
}

/** Made anew, the domain has another target. */
async function makeAnew({ stage, each }: Cast): Promise<void> {
  await stage.deleteInTheApi();
  for (const object of each) await stage.annotate(object, { [ANNOTATION.reconcileRequestedAt]: 'now' });
}

async function remove({ stage, each }: Cast): Promise<void> {
  for (const object of each) await stage.remove(object);
}

/** By somebody else. */
async function lose({ stage, each }: Cast): Promise<void> {
  for (const { name } of each) await stage.kube.delete(DNS_ENDPOINTS, name, stage.namespace);
}

async function edit({ stage, each }: Cast): Promise<void> {
  const spec = { endpoints: [] };
  for (const { name } of each) await stage.kube.patch(DNS_ENDPOINTS, name, { spec }, stage.namespace);
}

const published = (cast: Cast) => declare(cast, { dns: { publish: true } });

export const publications: readonly Scenario[] = [
  { name: 'publishes the records of a domain', act: published },
  {
    name: 'publishes the records of a domain that it has had for long',
    given: (cast: Cast) => declare(cast, {}),
    act: published,
  },
  { name: 'publishes the records of a domain that it makes anew', given: published, act: makeAnew },
  { name: 'publishes the records no more', given: published, act: (cast: Cast) => declare(cast, {}) },
  { name: 'deletes a domain whose records are published', given: published, act: remove },
  { name: 'publishes again what somebody has deleted', given: published, act: lose },
  { name: 'publishes again what somebody has edited', given: published, act: edit },
].map((scenario) => ({ ...scenario, rows: [DOMAINS] }));
