/** An object of the kind `Thing` under reconcile, with an API server and a management API in memory. */
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createClient } from '../../../src/client/client.ts';
import { EventRecorder } from '../../../src/operator/kube/event-recorder.ts';
import { KubeApi, type ResourceType } from '../../../src/operator/kube/kube-api.ts';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import type { KubeEvent } from '../../../src/operator/kube/kube-event.ts';
import { type KubeObject, kubeObject } from '../../../src/operator/kube/kube-object.ts';
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
import { noInputs } from '../inputs.ts';
import { configFor } from '../kube/answering.ts';
import { type ThingKind, Things, thingKind } from './things.ts';

/** As much of an API server as has one namespace, and no other field of an object than is written. */
class Cluster extends KubeApi {
  /** By their plural and name. */
  readonly objects = new Map<string, KubeObject>();
  /** What every write fails with, if it does. */
  refusal: KubeError | undefined;

  constructor() {
    super(configFor('http://127.0.0.1:1'), { userAgent: 'tests', timeoutMs: 1_000 });
  }

  put(plural: string, object: KubeObject): void {
    this.objects.set(`${plural}/${object.metadata.name}`, object);
  }

  override async get({ plural }: ResourceType, name: string): Promise<KubeObject> {
    await new Promise<void>((done) => setImmediate(done));
    const found = this.objects.get(`${plural}/${name}`);
    if (!found) throw new KubeError(404, 'NotFound', `no ${name}`);
    return found;
  }

  override async patch(type: ResourceType, name: string, body: unknown): Promise<KubeObject> {
    const found = await this.get(type, name);
    if (this.refusal) throw this.refusal;
    const version = kubeObject.shape.metadata.partial().safeParse(members(body).metadata).data?.resourceVersion;
    if (version !== undefined && version !== found.metadata.resourceVersion) throw new KubeError(409, 'Conflict', name);
    const written = kubeObject.parse(merged(found, body));
    written.metadata.resourceVersion = String(Number(found.metadata.resourceVersion) + 1);
    this.put(type.plural, written);
    return written;
  }
}

const members = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

/** JSON merge patch. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result = members(target);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
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
}

/** @param object as the cache has it, and the API server, too, unless a test changes it there */
export function manage(object: KubeObject, setting: Setting = {}) {
  const { things = new Things(), others = [], mayAdopt = true, inputs = noInputs() } = setting;
  const registry = new Registry();
  const metrics = createManagedMetrics(registry);
  const kube = new Cluster();
  const common = { silenceMs: 60_000, log: pino({ level: 'silent' }), metrics: createKubeMetrics(registry, 'tests') };
  const events = new Events(kube, { component: 'tests', instance: 'tests', ...common });
  const secrets = new SecretAccess(kube, new SecretCache(kube, common));
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
  const kind = new ConnectedKind(thingKind(things, setting.kind), client, secrets, inputs);
  const cache = new WatchCache(kube, { ...common, type: kind.type });
  const claims = new Claims(kind, cache.store, () => mayAdopt);
  cache.addHandler(claims);
  for (const each of [object, ...others]) {
    kube.put('things', each);
    cache.observe(each);
  }
  const enqueued: string[] = [];
  inputs.addPeer('Thing', { store: cache.store, enqueue: (key) => enqueued.push(key) });
  const managed = new ManagedObject(object, {
    kind,
    claims,
    kube,
    cache,
    eventRecorder: events,
    metrics,
    mayAdopt: () => mayAdopt,
    mayHandOutUserRights: true,
    waiting: new Waiting(),
    losses: new Losses(),
    companions: { has: () => true, observe: () => {} },
  });
  return {
    managed,
    spec: kind.membersOf(object),
    things,
    kube,
    claims,
    metrics,
    /** The objects that are to be reconciled again. */
    enqueued,
    /** As Events say it: `Created: Created thg_1`. */
    events: () => events.all.map(({ reason, message }) => `${reason}: ${message}`),
    /** As the API server has it. */
    object: (name = object.metadata.name) => kube.objects.get(`things/${name}`) ?? object,
    identity: (name = object.metadata.name): Identity => readIdentity(kube.objects.get(`things/${name}`) ?? object),
    /** Tells the cache of the object as somebody else has left it. */
    hear: (changed: KubeObject) => cache.observe(changed),
    /** Somebody else writes the object, of which the cache has not heard. */
    outdate(): void {
      const { metadata } = object;
      kube.put('things', { ...object, metadata: { ...metadata, resourceVersion: `${metadata.resourceVersion}0` } });
    },
  };
}
