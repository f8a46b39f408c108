/**
 * The objects of a test case, placed in the real API server: in a namespace of the test file, or, for a case with a
 * policy, in one of its own. The code under test sees that server through a proxy that tells what was asked. Only for
 * test files.
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
import { serveTestKind, TEST_GROUP } from './test-kinds.ts';

const KINDS = {
  samples: { kind: 'Sample', type: { ...TEST_GROUP, plural: 'samples' } },
  dnsendpoints: { kind: 'DNSEndpoint', type: { ...TEST_GROUP, plural: 'dnsendpoints' } },
  secrets: { kind: 'Secret', type: SECRETS },
  configmaps: { kind: 'ConfigMap', type: { group: '', version: 'v1', plural: 'configmaps' } },
} satisfies Record<string, { kind: string; type: ResourceType }>;
export type Plural = keyof typeof KINDS;

/** A kind of which the API server takes whatever is written, and that no operator looks after. */
export const SAMPLE = KINDS.samples;
/** The same for DNSEndpoints, which a cluster of tests may have or not. */
export const DNS_ENDPOINT = KINDS.dnsendpoints;

const core = (plural: string): ResourceType => ({ group: '', version: 'v1', plural });
const EVENTS = core('events');
const QUOTAS = core('resourcequotas');
const NAMESPACES = core('namespaces');
const ADMISSION = { group: 'admissionregistration.k8s.io', version: 'v1' };
const apiVersionOf = ({ group, version }: ResourceType) => (group === '' ? version : `${group}/${version}`);

const options = { userAgent: 'tests', timeoutMs: 10_000 };
const config = await kubeconfig();
const direct = new KubeApi(config, options);
/** Where the objects of the test files of this worker are, which clear it. */
export const NAMESPACE = await createNamespaceOfRun('managed');

const namespaces = new Set<string>();

async function cleanUp(): Promise<void> {
  for (const { name, policies, bindings } of admission.values()) {
    await direct.delete(bindings, name).catch(unless(404));
    await direct.delete(policies, name).catch(unless(404));
  }
  admission.clear();
  // A namespace is not gone before the finalizers in it are.
  await Promise.all([...namespaces].map(clear));
  namespaces.clear();
}

const unless = (code: number) => (error: unknown) => {
  if (!(error instanceof KubeError) || error.code !== code) throw error;
};

const served = new Map<Plural, Promise<unknown>>();

/** Has the API server serve the kind, if it is one of ours. */
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
  const plurals = [...served.keys()];
  await Promise.all(plurals.map((plural) => clearOf(KINDS[plural].type, namespace)));
}

async function clearOf(type: ResourceType, namespace: string): Promise<void> {
  const { items } = await direct.list(type, { namespace });
  const left = items.map(({ metadata }) => metadata).filter(({ name }) => name !== 'kube-root-ca.crt');
  await Promise.all(
    left.map(async ({ name, finalizers = [] }) => {
      const free = { metadata: { finalizers: null } };
      if (finalizers.length > 0) await direct.patch(type, name, free, namespace).catch(unless(404));
      await direct.delete(type, name, namespace).catch(unless(404));
    }),
  );
}

/**
 * Creates the object as it was given, but for what the API server decides.
 * @param uids by those that the test has made up
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
  // Each change of the spec is a generation.
  const changes = Array.from({ length: generation - 1 }, (____, n) => (n < generation - 2 ? n : null));
  const changed = { ...body, spec: { ...Object(spec), change: 'first' } };
  let placed = await direct.create(type, changes.length > 0 ? changed : body, namespace);
  for (const change of changes) placed = await direct.patch(type, name, { spec: { change } }, namespace);
  if (status !== undefined) placed = await direct.patch(type, name, { status }, namespace, 'status');
  if (deletionTimestamp === undefined) return placed;
  await direct.delete(type, name, namespace);
  return direct.get(type, name, namespace);
}

/** What the cluster of a test case makes of writes. */
export type Policy =
  /** A policy changes the digest on all Secrets that are written. */
  | 'alters Secrets'
  /** A policy lets nobody write objects of ours. */
  | 'refuses writes'
  /** The same, of their statuses and of new ones only. */
  | 'refuses writes of statuses'
  /** A quota is used up: nothing is created. */
  | 'refuses creates'
  /** The namespace is being deleted. */
  | 'terminates';

const ALTERED = 'altered';
const ALTERATION = `Object{metadata: Object.metadata{annotations: {"${ANNOTATION.tokenSha256}": "${ALTERED}"}}}`;
const ADMITTING = {
  'alters Secrets': {
    type: 'mutating',
    group: '',
    covers: { CREATE: ['secrets'], UPDATE: ['secrets'] },
    rules: {
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: ALTERATION } }],
    },
    binding: {},
  },
  'refuses writes': {
    type: 'validating',
    group: TEST_GROUP.group,
    covers: { CREATE: ['*'], UPDATE: ['*'] },
    rules: { validations: [{ expression: 'false', reason: 'Forbidden' }] },
    binding: { validationActions: ['Deny'] },
  },
  'refuses writes of statuses': {
    type: 'validating',
    group: TEST_GROUP.group,
    // By a create it is known when the policy is in force.
    covers: { CREATE: ['*'], UPDATE: ['*/status'] },
    rules: { validations: [{ expression: 'false', reason: 'Forbidden' }] },
    binding: { validationActions: ['Deny'] },
  },
} satisfies Partial<Record<Policy, object>>;
type Admitting = keyof typeof ADMITTING;

const admission = new Map<Admitting, ReturnType<typeof defineAdmission>>();

/** A policy in force for the namespaces that have its name as a label. */
function defineAdmission(policy: Admitting) {
  const { type, group, covers, rules, binding } = ADMITTING[policy];
  const name = `${policy.toLowerCase().replaceAll(' ', '-')}-${NAMESPACE}`;
  const policies: ResourceType = { ...ADMISSION, plural: `${type}admissionpolicies` };
  const bindings: ResourceType = { ...ADMISSION, plural: `${type}admissionpolicybindings` };
  const namespaceSelector = { matchLabels: { [TEST_GROUP.group]: name } };
  const resourceRules = Object.entries(covers).map(([operation, resources]) => {
    return { apiGroups: [group], apiVersions: ['*'], operations: [operation], resources };
  });
  const spec = { failurePolicy: 'Fail', matchConstraints: { namespaceSelector, resourceRules }, ...rules };
  const metadata = { name };
  const define = async () => {
    await direct.create(policies, { metadata, spec });
    await direct.create(bindings, { metadata, spec: { policyName: name, ...binding } });
  };
  return { name, policies, bindings, defined: define() };
}

/** Resolves when writes in the namespace meet the policy. */
async function enforce(policy: Policy, plurals: readonly Plural[], namespace: string): Promise<void> {
  const inForce = async (type: ResourceType, kind: string): Promise<boolean> => {
    const body = { apiVersion: apiVersionOf(type), kind, metadata: { name: 'tried' } };
    try {
      const tried = await direct.tryCreate(type, body, namespace);
      return tried.metadata.annotations?.[ANNOTATION.tokenSha256] === ALTERED;
    } catch (error) {
      unless(403)(error);
      return true;
    }
  };
  switch (policy) {
    case 'alters Secrets':
    case 'refuses writes':
    case 'refuses writes of statuses': {
      const known = admission.get(policy) ?? defineAdmission(policy);
      admission.set(policy, known);
      await known.defined;
      await direct.patch(NAMESPACES, namespace, { metadata: { labels: { [TEST_GROUP.group]: known.name } } });
      break;
    }
    case 'refuses creates': {
      const types = plurals.map((plural) => KINDS[plural].type);
      const names = types.map(({ group, plural }) => `count/${group === '' ? plural : `${plural}.${group}`}`);
      const hard = Object.fromEntries(names.map((name) => [name, '0']));
      await direct.create(QUOTAS, { metadata: { name: 'none' }, spec: { hard } }, namespace);
      await direct.patch(QUOTAS, 'none', { status: { hard, used: hard } }, namespace, 'status');
      break;
    }
    case 'terminates':
      await direct.delete(NAMESPACES, namespace);
  }
  for (const { type, kind } of plurals.map((plural) => KINDS[plural])) {
    await waitFor(`what ${policy}`, () => inForce(type, kind), { intervalMs: 20 });
  }
}

const event = z.looseObject({
  type: z.string(),
  reason: z.string(),
  message: z.string(),
  involvedObject: z.looseObject({ uid: z.string() }),
});

/** @param objects what there is in the cluster of these kinds, and no more; by plural */
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
      // Objects from lists tell no type.
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
    /** The object that was placed as a cache has it: as it was given, with what the API server has decided. */
    known: (given: KubeObject) => known.get(given) ?? given,
    get: (plural: Plural, name: string) => direct.get(typeOf(plural), name, namespace),
    find: (plural: Plural, name: string) => direct.find(typeOf(plural), name, namespace),
    /** Somebody else writes the object: a JSON merge patch. */
    change: (plural: Plural, name: string, patch: object) => direct.patch(typeOf(plural), name, patch, namespace),
    /** Somebody else writes the object, but nothing that matters. */
    touch: (plural: Plural, name: string) =>
      direct.patch(typeOf(plural), name, { metadata: { labels: { touched: 'since' } } }, namespace),
    /** Somebody else deletes the object. */
    remove: (plural: Plural, name: string) => direct.delete(typeOf(plural), name, namespace),
    /** Somebody else creates an object. */
    place: (plural: Plural, given: KubeObject) => place(plural, given, namespace, uids),
    /** The Kubernetes Events about what was placed, in their order. */
    async events() {
      const { items } = await direct.list(EVENTS, { namespace });
      const inOrder = items.sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
      const made = new Set(uids.values());
      return inOrder.map((each) => event.parse(each)).filter(({ involvedObject }) => made.has(involvedObject.uid));
    },
    /** Method and path of everything that was asked. */
    asked,
    /** Those of all that was written, but for Events. */
    writes: () => asked().filter((line) => !line.startsWith('GET') && !line.includes('/events')),
  };
}
