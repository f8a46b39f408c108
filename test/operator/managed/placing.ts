/**
 * Places the objects of a test case in the real API server: in the namespace of the test file or, for a case with a
 * policy, in one of its own. The code under test reaches that server through a proxy that records its requests. Only
 * for test files.
 */

import { KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { waitFor } from '../../../dev/processes/wait.ts';
import { ANNOTATION } from '../../../src/operator/contract/names.ts';
import { KubeApi, type ResourceType } from '../../../src/operator/kube/kube-api.ts';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { SECRETS } from '../../../src/operator/managed/secrets/secret-cache.ts';
import { FaultProxy } from '../../crash/proxy.ts';
import { atEnd } from '../../end-of-file.ts';
import { createNamespace, createNamespaceOfRun, kubeconfig } from '../../harness.ts';

const TEST_GROUP = { group: 'tests.tunnel-operator.dev', version: 'v1alpha1' };
const CRDS: ResourceType = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };

/** Makes the API server serve the kind. Its CRD stays: other test files use it at the same time. */
async function serveTestKind(kube: KubeApi, kind: string, plural: string, namespace: string): Promise<void> {
  const { group, version } = TEST_GROUP;
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const spec = {
    group,
    scope: 'Namespaced',
    names: { kind, plural, singular: kind.toLowerCase() },
    versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
  };
  try {
    await kube.create(CRDS, { metadata: { name: `${plural}.${group}` }, spec });
  } catch (error) {
    if (!(error instanceof KubeError && error.isConflict)) throw error;
  }
  const isFatal = (error: unknown) => !(error instanceof KubeError && (error.isNotFound || error.isThrottled));
  const listed = () => kube.list({ ...TEST_GROUP, plural }, { namespace });
  await waitFor(`${plural} to be served`, listed, { isFatal, intervalMs: 20 });
}

const KINDS = {
  samples: { kind: 'Sample', type: { ...TEST_GROUP, plural: 'samples' } },
  dnsendpoints: { kind: 'DNSEndpoint', type: { ...TEST_GROUP, plural: 'dnsendpoints' } },
  secrets: { kind: 'Secret', type: SECRETS },
  configmaps: { kind: 'ConfigMap', type: { group: '', version: 'v1', plural: 'configmaps' } },
} satisfies Record<string, { kind: string; type: ResourceType }>;
export type Plural = keyof typeof KINDS;

/** A kind whose objects may have any fields, and that no operator reconciles. */
export const SAMPLE = KINDS.samples;
/** The same in place of the kind of ExternalDNS, which a test cluster may lack. */
export const DNS_ENDPOINT = KINDS.dnsendpoints;

const core = (plural: string): ResourceType => ({ group: '', version: 'v1', plural });
const apiVersionOf = ({ group, version }: ResourceType) => (group === '' ? version : `${group}/${version}`);

const options = { userAgent: 'tests', timeoutMs: 10_000 };
const config = await kubeconfig();
const direct = new KubeApi(config, options);
/** The namespace of the test files of this worker, which clear it. */
export const NAMESPACE = await createNamespaceOfRun('managed');

const namespaces = new Set<string>();

async function cleanUp(): Promise<void> {
  for (const policy of mutations.keys())
    for (const type of [MUTATION_BINDINGS, MUTATIONS])
      await direct.delete(type, mutationName(policy)).catch(unless(404));
  mutations.clear();
  // A namespace is only gone once the finalizers in it are.
  await Promise.all([...namespaces].map(clear));
  namespaces.clear();
}

const unless = (code: number) => (error: unknown) => {
  if (!(error instanceof KubeError) || error.code !== code) throw error;
};

const served = new Map<Plural, Promise<unknown>>();

/** Makes the API server serve the kind, if it is one of ours. */
function serve(plural: Plural): Promise<unknown> {
  const { kind, type } = KINDS[plural];
  const known =
    served.get(plural) ??
    (type.group === TEST_GROUP.group ? serveTestKind(direct, kind, plural, NAMESPACE) : Promise.resolve());
  served.set(plural, known);
  return known;
}

/** Removes everything that a test case has left. */
async function clear(namespace: string): Promise<void> {
  for (const { type } of [...served.keys()].map((plural) => KINDS[plural])) {
    const { items } = await direct.list(type, { namespace });
    const left = items.map(({ metadata }) => metadata).filter(({ name }) => name !== 'kube-root-ca.crt');
    const remove = async ({ name, finalizers = [] }: KubeObject['metadata']) => {
      const free = { metadata: { finalizers: null } };
      if (finalizers.length > 0) await direct.patch(type, name, free, namespace).catch(unless(404));
      await direct.delete(type, name, namespace).catch(unless(404));
    };
    await Promise.all(left.map(remove));
  }
}

/**
 * Creates the object as given, except for the fields that the API server sets.
 * @param uids the real UIDs, by those that the test made up
 */
async function place(plural: Plural, given: KubeObject, namespace: string, uids: ReadonlyMap<string, string>) {
  const { kind, type } = KINDS[plural];
  const { metadata, status, spec, ...rest } = given;
  const { uid: _, resourceVersion: __, creationTimestamp: ___, deletionTimestamp, generation = 1, ...kept } = metadata;
  const ownerReferences = metadata.ownerReferences?.map((each) => ({ ...each, uid: uids.get(each.uid) ?? each.uid }));
  const body = {
    ...rest,
    apiVersion: apiVersionOf(type),
    kind,
    metadata: { ...kept, namespace, ownerReferences },
    spec,
  };
  const { name } = metadata;
  let placed = await direct.create(type, body, namespace);
  // Each change of the spec is a generation.
  for (let n = 1; n < generation; n += 1) placed = await direct.patch(type, name, { spec: { change: n } }, namespace);
  if (status !== undefined) placed = await direct.replace(type, name, { ...placed, status }, namespace, 'status');
  if (deletionTimestamp === undefined) return placed;
  await direct.delete(type, name, namespace);
  return direct.get(type, name, namespace);
}

/** How the cluster of a test case treats writes. */
export type Policy =
  /** An admission policy changes the digest on all Secrets that are written. */
  | 'alters Secrets'
  /** Others strip all finalizers, or the annotations, of samples. */
  | 'strips finalizers'
  | 'strips annotations'
  /** A quota is used up: nothing is created. */
  | 'refuses creates'
  /** The namespace is being deleted. */
  | 'terminates';

const ALTERATION = `Object{metadata: Object.metadata{annotations: {"${ANNOTATION.tokenSha256}": "altered"}}}`;
const stripping = (member: string) => ({
  type: SAMPLE.type,
  patchType: 'JSONPatch',
  jsonPatch: {
    expression: `has(object.metadata.${member}) ? [JSONPatch{op: "remove", path: "/metadata/${member}"}] : []`,
  },
});
/** Types and mutations of the admission policies that alter what is written. */
const MUTATIONS_OF = {
  'alters Secrets': {
    type: SECRETS,
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression: ALTERATION },
  },
  'strips finalizers': stripping('finalizers'),
  'strips annotations': stripping('annotations'),
};
type Mutating = keyof typeof MUTATIONS_OF;
const isMutating = (policy: Policy): policy is Mutating => Object.hasOwn(MUTATIONS_OF, policy);
const mutationName = (policy: Mutating) => `${policy.toLowerCase().replace(' ', '-')}-${NAMESPACE}`;
const [MUTATIONS, MUTATION_BINDINGS] = ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'].map(
  (plural): ResourceType => ({ group: 'admissionregistration.k8s.io', version: 'v1', plural }),
) as [ResourceType, ResourceType];

/** The admission policies, each in force for the namespaces that have its name as a label. */
const mutations = new Map<Mutating, Promise<unknown>>();
async function defineMutation(policy: Mutating): Promise<void> {
  const { type, ...mutation } = MUTATIONS_OF[policy];
  const name = mutationName(policy);
  const namespaceSelector = { matchLabels: { [TEST_GROUP.group]: name } };
  const rule = {
    apiGroups: [type.group],
    apiVersions: ['*'],
    operations: ['CREATE', 'UPDATE'],
    resources: [type.plural],
  };
  const spec = {
    failurePolicy: 'Fail',
    matchConstraints: { namespaceSelector, resourceRules: [rule] },
    reinvocationPolicy: 'Never',
    mutations: [mutation],
  };
  const metadata = { name };
  await direct.create(MUTATIONS, { metadata, spec });
  await direct.create(MUTATION_BINDINGS, { metadata, spec: { policyName: name } });
}

/** Resolves once the policy applies to writes in the namespace. */
async function enforce(policy: Policy, plurals: readonly Plural[], namespace: string): Promise<void> {
  if (policy === 'terminates') await direct.delete(core('namespaces'), namespace);
  if (isMutating(policy)) {
    const defined = mutations.get(policy) ?? defineMutation(policy);
    mutations.set(policy, defined);
    await defined;
    const labels = { [TEST_GROUP.group]: mutationName(policy) };
    await direct.patch(core('namespaces'), namespace, { metadata: { labels } });
  }
  if (policy === 'refuses creates') {
    const types = plurals.map((plural) => KINDS[plural].type);
    const names = types.map(({ group, plural }) => `count/${group === '' ? plural : `${plural}.${group}`}`);
    const hard = Object.fromEntries(names.map((name) => [name, '0']));
    const quotas = core('resourcequotas');
    const quota = { metadata: { name: 'none' }, spec: { hard } };
    await direct.create(quotas, quota, namespace);
    await direct.replace(quotas, 'none', { ...quota, status: { hard, used: hard } }, namespace, 'status');
  }
  for (const { type, kind } of plurals.map((plural) => KINDS[plural])) {
    const metadata = { name: 'tried', finalizers: ['tests.tunnel-operator.dev/tried'], annotations: { tried: 'yes' } };
    const body = { apiVersion: apiVersionOf(type), kind, metadata };
    const isInForce = () =>
      direct.tryCreate(type, body, namespace).then(
        ({ metadata: { finalizers = [], annotations = {} } }) =>
          finalizers.length + Object.keys(annotations).length !== 2,
        (error) => unless(403)(error) === undefined,
      );
    await waitFor(`the policy "${policy}" to apply`, isInForce, { intervalMs: 20 });
  }
}

const event = z.looseObject({
  type: z.string(),
  reason: z.string(),
  message: z.string(),
  involvedObject: z.looseObject({ uid: z.string() }),
});

/** @param objects all objects of these kinds in the cluster, by plural */
export async function placing(objects: Partial<Record<Plural, readonly KubeObject[]>>, policy?: Policy) {
  const namespace = policy === undefined ? NAMESPACE : await createNamespace('managed');
  if (namespaces.size === 0) atEnd(cleanUp);
  namespaces.add(namespace);
  const plurals = Object.keys(KINDS).filter((plural): plural is Plural => Object.hasOwn(objects, plural));
  await Promise.all(plurals.map(serve));
  if (policy === undefined) await clear(namespace);
  const uids = new Map<string, string>();
  const known = new Map<KubeObject, KubeObject>();
  for (const plural of plurals) {
    for (const given of objects[plural] ?? []) {
      const { uid, resourceVersion } = (await place(plural, given, namespace, uids)).metadata;
      uids.set(given.metadata.uid, uid);
      // Objects from lists have no apiVersion and kind.
      const isTyped = given.kind !== undefined && plural === 'samples';
      const typeMeta = isTyped ? { apiVersion: apiVersionOf(SAMPLE.type), kind: SAMPLE.kind } : {};
      known.set(given, { ...given, ...typeMeta, metadata: { ...given.metadata, namespace, uid, resourceVersion } });
    }
  }
  if (policy !== undefined) await enforce(policy, plurals, namespace);

  const proxy = await FaultProxy.start('http://127.0.0.1:1', config);
  onTestFinished(() => proxy.close());
  const proxied = new KubeConfig();
  proxied.loadFromString(proxy.kubeconfig);
  const kube = new KubeApi(proxied, options);
  onTestFinished(() => kube.close());
  const asked = () => proxy.calls.map(({ method, path }) => `${method} ${path}`);
  const typeOf = (plural: Plural) => KINDS[plural].type;
  return {
    namespace,
    /** For the code under test. */
    kube,
    /** The placed object as a cache has it: as given, with the fields that the API server set. */
    known: (given: KubeObject) => known.get(given) ?? given,
    get: (plural: Plural, name: string) => direct.get(typeOf(plural), name, namespace),
    find: (plural: Plural, name: string) => direct.find(typeOf(plural), name, namespace),
    /** Another client writes the object: a JSON merge patch. */
    change: (plural: Plural, name: string, patch: object) => direct.patch(typeOf(plural), name, patch, namespace),
    /** Another client writes the object, but changes nothing that matters. */
    touch: (plural: Plural, name: string) =>
      direct.patch(typeOf(plural), name, { metadata: { labels: { touched: 'since' } } }, namespace),
    /** The Kubernetes Events about the placed objects, in order. */
    async events() {
      const { items } = await direct.list(core('events'), { namespace });
      const inOrder = items.sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
      const made = new Set(uids.values());
      return inOrder.map((each) => event.parse(each)).filter(({ involvedObject }) => made.has(involvedObject.uid));
    },
    /** Method and path of every request. */
    asked,
    /** Method and path of every write except those of Events. */
    writes: () => asked().filter((line) => !line.startsWith('GET') && !line.includes('/events')),
  };
}
