/**
 * An object of the kind `Thing` as a reconcile has it: between the real API server and a management API in memory. Only
 * for test files.
 */
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { type Identity, readIdentity } from '../../../src/operator/managed/identity/identity.ts';
import type { Inputs } from '../../../src/operator/managed/knowledge/inputs.ts';
import { noInputs } from '../inputs.ts';
import { managing } from './managing.ts';
import type { Plural, Policy } from './placing.ts';
import { type ThingKind, Things, thingKind } from './things.ts';

interface Setting {
  things?: Things;
  /** What is peculiar to the kind. */
  kind?: Partial<ThingKind>;
  /** Other objects of the kind. */
  others?: readonly KubeObject[];
  /** Of other kinds, by their plural. */
  beside?: Partial<Record<Plural, readonly KubeObject[]>>;
  policy?: Policy;
  mayAdopt?: boolean;
  inputs?: Inputs;
}

/** @param object as the cache has it, and the API server, too, unless a test changes it there */
export async function manage(object: KubeObject, setting: Setting = {}) {
  const { things = new Things(), kind, mayAdopt = true, inputs = noInputs(), ...circumstances } = setting;
  const { managed, access, cluster, metrics, events } = await managing(object, {
    ...circumstances,
    inputs,
    kind: thingKind(things, kind),
    access: { mayAdopt: () => mayAdopt },
  });
  const enqueued: string[] = [];
  inputs.addPeer('Thing', { store: access.cache.store, enqueue: (key) => enqueued.push(key) });
  const own = object.metadata.name;
  const stored = (name = own) => cluster.get('samples', name);
  return {
    managed,
    spec: managed.kind.membersOf(object),
    things,
    claims: access.claims,
    metrics,
    cluster,
    /** The objects that are to be reconciled again. */
    enqueued,
    /** As Events say it: `Created: Created thg_1`. */
    events: async () => (await events()).map(({ reason, message }) => `${reason}: ${message}`),
    /** As the API server has it. */
    object: stored,
    /** Whether the API server has it. */
    exists: async (name = own) => (await cluster.find('samples', name)) !== undefined,
    identity: async (name = own): Promise<Identity> => readIdentity(await stored(name)),
    /** Somebody else writes an object, of which the cache has not heard: a JSON merge patch. */
    change: (patch: object, name = own) => cluster.change('samples', name, patch),
    /** The same, with nothing that matters. */
    outdate: () => cluster.touch('samples', own),
    /** Somebody else removes an object, of which the cache has not heard. */
    remove: (name = own) => cluster.remove('samples', name),
    /** Somebody else creates an object, of which the cache has not heard. */
    create: (given: KubeObject) => cluster.place('samples', given),
    /** Tells the cache of the object as the API server has it. */
    hear: async () => access.cache.observe(await stored()),
  };
}
