/**
 * The reconcile of a connection: reads its key, asks the API whose it is, and remembers that in the status. What was created
 * through a connection belongs to that owner, so a key of another one is refused: resources would be created a second time.
 */
import { apiKeyText } from '../../settings/schemas.ts';
import { API_VERSION, CONNECTION_FINALIZER } from '../contract/names.ts';
import { CONDITION, type EventReason, REASON } from '../contract/reasons.ts';
import { findCondition, mergeConditions, sameStatus } from '../kube/conditions.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import type { KubeApi } from '../kube/kube-api.ts';
import { type KubeObject, keyOf } from '../kube/kube-object.ts';
import type { WatchCache } from '../kube/watch-cache.ts';
import { Blocked, type Finding } from '../managed/declaration/external.ts';
import { Source } from '../managed/declaration/input.ts';
import { isDeleting, NOT_OBSERVED } from '../managed/identity/recorded-status.ts';
import { objectKey } from '../managed/knowledge/reference-index.ts';
import type { SourceCache } from '../managed/knowledge/source-cache.ts';
import { progress } from '../managed/object/findings.ts';
import type { Outcome } from '../managed/object/managed-object.ts';
import { inUse } from '../managed/object/object-connections.ts';
import type { ShownFailure } from '../managed/object/status.ts';
import { type ConnectionKind, type ConnectionStatus, connectionStatus } from './connection-kinds.ts';
import type { Connections } from './connections.ts';
import { holdSecret, releaseSecret } from './held-secret.ts';
import type { Checked, OpenConnection } from './open-connection.ts';

export interface ConnectionReconcilerOptions {
  kind: ConnectionKind;
  kube: KubeApi;
  cache: WatchCache;
  connections: Connections;
  sources: Pick<SourceCache, 'reader'>;
  eventRecorder: EventRecorder;
  /** Where the Secret is. */
  secretNamespace(object: KubeObject): string;
  /** Has the objects that use the connection reconciled, since they may be able to use it now, or not any more. */
  changed(object: KubeObject): void;
  recheckMs: number;
}

export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;

  constructor(options: ConnectionReconcilerOptions) {
    this.#options = options;
  }

  /** @throws Blocked, and what the clients of the two APIs throw */
  async reconcile(given: KubeObject): Promise<Outcome> {
    const { kind, connections, recheckMs } = this.#options;
    if (isDeleting(given)) return this.#finalize(given);
    const object = await this.#ensureFinalizer(given);
    const wasReady = isReady(object);
    await connections.openFor(kind.kind, object).check();
    const newest = this.#newest(object);
    if (!wasReady) this.#options.changed(newest);
    // A spec that is newer was not checked yet.
    const isChecked = generationOf(newest) === generationOf(object);
    return { object: isChecked ? newest : object, requeueAfterMs: recheckMs };
  }

  /** What `OpenConnection` asks for before it is used. */
  async check(connection: OpenConnection): Promise<Checked> {
    const object = this.#newest(connection.object);
    const apiKey = await this.#readKey(object);
    const { owner, installation_id: installationId } = await connection.whoami(apiKey);
    const { owner: known, installationId: knownId } = statusOf(object);
    if (known && known.id !== owner.id)
      throw new Blocked(REASON.accessDenied, otherOwner(nameOf(known), nameOf(owner)));
    if (knownId !== undefined && knownId !== installationId)
      throw new Blocked(REASON.accessDenied, otherInstallation(knownId, installationId));
    const about = { owner: { id: owner.id, name: owner.name }, installationId };
    if (isDeleting(object)) {
      // Its condition says what it waits for.
      await this.#replaceStatus(object, { ...statusOf(object), ...about });
      return { apiKey, installationId };
    }
    // Before anything is created with the key, since nobody can add it to a namespace that is deleted.
    const holding = await this.#holdSecret(object);
    const ready: Finding = { status: 'True', reason: REASON.available, message: `Uses a key of ${nameOf(owner)}` };
    await this.#writeStatus(holding, ready, false, { ...about, observedGeneration: generationOf(object) });
    return { apiKey, installationId };
  }

  /** Shows in the conditions that the reconcile failed; returns the object as written. */
  async recordFailure(object: KubeObject, { reason, message, keepReady }: ShownFailure): Promise<KubeObject> {
    const wasReady = isReady(object);
    // A blip says nothing about the connection.
    if (keepReady && wasReady) return object;
    const observedGeneration = generationOf(object);
    const written = await this.#writeStatus(object, { status: 'False', reason, message }, keepReady, {
      ...(!keepReady && { observedGeneration }),
    });
    if (written !== object) this.#record(written, 'Warning', reason, message);
    if (wasReady) this.#options.changed(written);
    return written;
  }

  async #finalize(object: KubeObject): Promise<Outcome> {
    const { kind, connections } = this.#options;
    const users = [...connections.usersOf(kind.kind, object)];
    if (users.length > 0) {
      // Its users need it until they are gone.
      const connection = connections.openFor(kind.kind, object);
      const wasUsable = connection.isUsable;
      await connection.check();
      if (!wasUsable) this.#options.changed(object);
      throw inUse(users);
    }
    const finalizers = object.metadata.finalizers?.filter((name) => name !== CONNECTION_FINALIZER) ?? [];
    if (finalizers.length === object.metadata.finalizers?.length) return { object };
    await this.#releaseSecret(object);
    return { object: await this.#patch(object, { finalizers }) };
  }

  /** The Secret that the spec names, instead of the one that it has named before. */
  async #holdSecret(object: KubeObject): Promise<KubeObject> {
    const { kube, kind } = this.#options;
    const { namespace } = object.metadata;
    // Those of ClusterAPIConnections are in no namespace that is deleted with what uses them.
    if (namespace === undefined) return object;
    const { name } = kind.spec.parse(object.spec).apiKeySecretRef;
    let current = object;
    if (statusOf(object).heldSecret !== name) {
      await this.#releaseSecret(object);
      // First, so that it is released later on, whatever happens in between.
      current = await this.#replaceStatus(object, { ...statusOf(object), heldSecret: name });
    }
    if (await holdSecret(kube, namespace, name)) return current;
    const message = `spec.apiKeySecretRef: Secret ${namespace}/${name} is being deleted: create it anew, or name another`;
    throw new Blocked(REASON.sourceNotFound, message);
  }

  async #releaseSecret(object: KubeObject): Promise<void> {
    const { kube, cache } = this.#options;
    const { namespace } = object.metadata;
    const name = statusOf(object).heldSecret;
    if (namespace === undefined || name === undefined) return;
    const others = [...cache.store.values()].filter((each) => keyOf(each) !== keyOf(object));
    const isHeld = others.some((each) => each.metadata.namespace === namespace && statusOf(each).heldSecret === name);
    if (!isHeld) await releaseSecret(kube, namespace, name);
  }

  async #ensureFinalizer(object: KubeObject): Promise<KubeObject> {
    const { finalizers = [] } = object.metadata;
    if (finalizers.includes(CONNECTION_FINALIZER)) return object;
    return await this.#patch(object, { finalizers: [...finalizers, CONNECTION_FINALIZER] });
  }

  async #readKey(object: KubeObject): Promise<string> {
    const { kind, sources, secretNamespace } = this.#options;
    const { apiKeySecretRef } = kind.spec.parse(object.spec);
    const source = new Source({ kind: 'Secret', ...apiKeySecretRef }, apiKeyText);
    const { namespace = '', name } = object.metadata;
    const read = sources.reader(secretNamespace(object), objectKey(kind.kind, namespace, name));
    const { text } = await read(source, 'spec.apiKeySecretRef');
    const { error, data } = apiKeyText.safeParse(text);
    if (data !== undefined) return data;
    const where = `the value of ${JSON.stringify(source.key)} in Secret ${source.name}`;
    throw new Blocked(REASON.sourceInvalid, `spec.apiKeySecretRef: ${where} ${error?.issues[0]?.message}`);
  }

  #newest(object: KubeObject): KubeObject {
    return this.#options.cache.store.get(keyOf(object)) ?? object;
  }

  async #writeStatus(
    object: KubeObject,
    ready: Finding,
    isTransient: boolean,
    about: Partial<ConnectionStatus>,
  ): Promise<KubeObject> {
    const current = statusOf(object);
    const findings = { [CONDITION.ready]: ready, ...progress(ready, isTransient) };
    const conditions = mergeConditions(current.conditions ?? [], findings, object.metadata.generation ?? 0, new Date());
    return this.#replaceStatus(object, { ...current, ...about, conditions });
  }

  async #replaceStatus(object: KubeObject, status: ConnectionStatus): Promise<KubeObject> {
    const { kind, kube } = this.#options;
    if (sameStatus(object.status, status)) return object;
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const body = {
      apiVersion: API_VERSION,
      kind: kind.kind,
      metadata: { name, namespace, uid, resourceVersion },
      status,
    };
    return this.#stored(await kube.replace(kind.type, name, body, namespace, 'status'));
  }

  async #patch(object: KubeObject, metadata: object): Promise<KubeObject> {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const body = { metadata: { ...metadata, uid, resourceVersion } };
    return this.#stored(await this.#options.kube.patch(this.#options.kind.type, name, body, namespace));
  }

  #stored(written: KubeObject): KubeObject {
    this.#options.cache.observe(written);
    return written;
  }

  #record(object: KubeObject, type: 'Normal' | 'Warning', reason: EventReason, message: string): void {
    const { eventRecorder, kind } = this.#options;
    eventRecorder.record({ ...object, kind: kind.kind, apiVersion: API_VERSION }, { type, reason, message });
  }
}

function statusOf({ status }: KubeObject): ConnectionStatus {
  return connectionStatus.safeParse(status ?? {}).data ?? { observedGeneration: NOT_OBSERVED };
}

const generationOf = ({ metadata }: KubeObject) => metadata.generation ?? NOT_OBSERVED;

const isReady = (object: KubeObject) =>
  findCondition(statusOf(object).conditions ?? [], CONDITION.ready)?.status === 'True';

const nameOf = ({ id, name }: { id: string; name?: string | undefined }) => (name ? `${id} (${name})` : id);

function otherOwner(known: string, found: string): string {
  return `the key belongs to ${found}, but what was created through this connection belongs to ${known}: put a key of ${known} into the Secret; for another owner, create another connection`;
}

function otherInstallation(known: string, found: string): string {
  return `another installation of the management API answers (${found}); what was created through this connection is in ${known}: correct spec.url, or create another connection`;
}
