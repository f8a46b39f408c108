/**
 * An object of the kind `Thing` under reconcile, on the real API server and with a management API in memory. Only for test
 * files; what is made here is removed at the end of the file.
 */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll } from 'vitest';
import { waitFor } from '../../../dev/processes/wait.ts';
import { createClient } from '../../../src/client/client.ts';
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts';
import { KubeApi, type ResourceType } from '../../../src/operator/kube/kube-api.ts';
import type { KubeEvent } from '../../../src/operator/kube/kube-event.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { createKubeMetrics } from '../../../src/operator/kube/metrics.ts';
import { WatchCache } from '../../../src/operator/kube/watch-cache.ts';
import { Claims } from '../../../src/operator/managed/claims.ts';
import { ConnectedKind } from '../../../src/operator/managed/connected-kind.ts';
import { type Identity, readIdentity } from '../../../src/operator/managed/identity.ts';
import type { Inputs } from '../../../src/operator/managed/inputs/inputs.ts';
import { Losses } from '../../../src/operator/managed/losses.ts';
import { ManagedObject } from '../../../src/operator/managed/managed-object.ts';
import { createManagedMetrics } from '../../../src/operator/managed/metrics.ts';
import { SecretAccess } from '../../../src/operator/managed/secrets/secret-access.ts';
import { SecretCache } from '../../../src/operator/managed/secrets/secret-cache.ts';
import { Waiting } from '../../../src/operator/managed/waiting.ts';
import { createNamespace, kubeconfig } from '../../harness.ts';
import { noInputs } from '../inputs.ts';
import { serveTestKind, TEST_GROUP } from './test-kinds.ts';
import { type ThingKind, Things, thingKind } from './things.ts';

const THINGS: ResourceType = { ...TEST_GROUP, plural: 'things' };
const API_VERSION = `${TEST_GROUP.group}/${TEST_GROUP.version}`;
const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' };

/** Where everything of the test file is. */
export const NAMESPACE = await createNamespace('things');
/** The names of the objects there. */
const made = new Set<string>();
export const kube = await connect();
await serveTestKind(kube, 'Thing', 'things', NAMESPACE);
afterAll(clear);

/** @param user on whose behalf the calls are made */
async function connect(user?: string): Promise<KubeApi> {
  const config = await kubeconfig();
  const [known] = config.users;
  if (user !== undefined && known) config.users = [{ ...known, impersonateUser: user }];
  const api = new KubeApi(config, { userAgent: 'tests', timeoutMs: 10_000 });
  afterAll(() => api.close());
  return api;
}

/** A client that may read the objects, but not write them. To be called outside of tests. */
export async function reading(): Promise<KubeApi> {
  const name = 'reader';
  const metadata = { name };
  const rules = [{ apiGroups: [THINGS.group], resources: ['*'], verbs: ['get', 'list'] }];
  const apiGroup = RBAC.group;
  const binding = {
    metadata,
    roleRef: { apiGroup, kind: 'Role', name },
    subjects: [{ apiGroup, kind: 'User', name }],
  };
  await kube.create({ ...RBAC, plural: 'roles' }, { metadata, rules }, NAMESPACE);
  await kube.create({ ...RBAC, plural: 'rolebindings' }, binding, NAMESPACE);
  const reader = await connect(name);
  await waitFor('the right to read', () => reader.list(THINGS, { namespace: NAMESPACE }));
  return reader;
}

/** Removes all that was made, whoever holds it. */
async function clear(): Promise<void> {
  await Promise.all([...made].map(remove));
  made.clear();
}

async function remove(name: string): Promise<void> {
  const found = await kube.find(THINGS, name, NAMESPACE);
  if (!found) return;
  const { finalizers = [], deletionTimestamp } = found.metadata;
  if (finalizers.length > 0) await kube.patch(THINGS, name, { metadata: { finalizers: [] } }, NAMESPACE);
  // Nothing but finalizers keeps what was deleted before.
  if (deletionTimestamp === undefined) await kube.delete(THINGS, name, NAMESPACE);
}

/** Creates the object; what a cache would have of it, with the times that the test gives. */
async function make(given: KubeObject): Promise<KubeObject> {
  const { status, metadata, ...rest } = given;
  const { name, annotations, finalizers, deletionTimestamp } = metadata;
  const own = { ...rest, apiVersion: API_VERSION, kind: 'Thing' };
  made.add(name);
  let newest = await kube.create(THINGS, { ...own, metadata: { name, annotations, finalizers } }, NAMESPACE);
  if (status !== undefined) newest = await kube.patch(THINGS, name, { status }, NAMESPACE, 'status');
  if (deletionTimestamp !== undefined) {
    await kube.delete(THINGS, name, NAMESPACE);
    newest = await kube.get(THINGS, name, NAMESPACE);
  }
  const { namespace, uid, resourceVersion, generation } = newest.metadata;
  return {
    ...own,
    ...(status !== undefined && { status }),
    metadata: { ...metadata, namespace, uid, resourceVersion, generation },
  };
}

/** The kind of the objects in the group of the tests. */
class TestKind extends ConnectedKind {
  override readonly type = THINGS;
}

class Events extends EventRecorder {
  readonly all: KubeEvent[] = [];

  override record(_: KubeObject, event: KubeEvent): void {
    this.all.push(event);
  }
}

interface Setting {
  things?: Things;
  /** What is peculiar to the kind. */
  kind?: Partial<ThingKind>;
  /** Other objects of the kind. */
  others?: readonly KubeObject[];
  mayAdopt?: boolean;
  inputs?: Inputs;
  /** The operator's client of the API server; one that may do everything, unless told otherwise. */
  as?: KubeApi;
}

/**
 * Replaces everything that an earlier call has made.
 * @param object as the cache has it, and the API server, too, unless a test changes it there
 */
export async function manage(object: KubeObject, setting: Setting = {}) {
  const { things = new Things(), others = [], mayAdopt = true, inputs = noInputs(), as = kube } = setting;
  const registry = new Registry();
  const metrics = createManagedMetrics(registry);
  const common = { silenceMs: 60_000, log: pino({ level: 'silent' }), metrics: createKubeMetrics(registry, 'tests') };
  const events = new Events(as, { component: 'tests', instance: 'tests', ...common });
  const secrets = new SecretAccess(as, new SecretCache(as, common));
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
  const kind = new TestKind(thingKind(things, setting.kind), client, secrets, inputs);
  const cache = new WatchCache(as, { ...common, type: kind.type });
  const claims = new Claims(kind, cache.store, () => mayAdopt);
  cache.addHandler(claims);
  await clear();
  const given = await make(object);
  for (const each of [given, ...(await Promise.all(others.map(make)))]) cache.observe(each);
  const enqueued: string[] = [];
  inputs.addPeer('Thing', { store: cache.store, enqueue: (key) => enqueued.push(key) });
  const managed = new ManagedObject(given, {
    kind,
    claims,
    kube: as,
    cache,
    eventRecorder: events,
    metrics,
    mayAdopt: () => mayAdopt,
    mayHandOutUserRights: true,
    waiting: new Waiting(),
    losses: new Losses(),
    companions: { has: () => true, observe: () => {} },
  });
  const own = object.metadata.name;
  return {
    managed,
    spec: kind.membersOf(object),
    things,
    claims,
    metrics,
    /** The objects that are to be reconciled again. */
    enqueued,
    /** As Events say it: `Created: Created thg_1`. */
    events: () => events.all.map(({ reason, message }) => `${reason}: ${message}`),
    /** As the API server has it. */
    object: (name = own) => kube.get(THINGS, name, NAMESPACE),
    /** Whether the API server has it. */
    exists: async (name = own) => (await kube.find(THINGS, name, NAMESPACE)) !== undefined,
    identity: async (name = own): Promise<Identity> => readIdentity(await kube.get(THINGS, name, NAMESPACE)),
    /** Somebody else writes an object, of which the cache has not heard: a JSON merge patch. */
    change: (patch: object, name = own) => kube.patch(THINGS, name, patch, NAMESPACE),
    /** The same, with nothing that matters. */
    outdate: () => kube.patch(THINGS, own, { metadata: { annotations: { 'tests/touched': 'true' } } }, NAMESPACE),
    /** Somebody else removes an object, of which the cache has not heard. */
    remove: (name = own) => remove(name),
    /** Somebody else creates an object, of which the cache has not heard. */
    create: make,
    /** Tells the cache of the object as the API server has it. */
    hear: async () => cache.observe(await kube.get(THINGS, own, NAMESPACE)),
  };
}
