/**
 * One TunnelCredential, what users do to it, and its own operator: the real reconciler on the real API server and the
 * real API. The operator sees changes only when told to look, as with a slow watch.
 */
import { expect } from 'vitest';
import { API_VERSION, FINALIZER } from '../../../src/operator/contract/names.ts';
import { REASON } from '../../../src/operator/contract/reasons.ts';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import type { KubeObject } from '../../../src/operator/kube/kube-object.ts';
import { readIdentity } from '../../../src/operator/managed/identity/identity.ts';
import { hasFinalizer, isDeleting, readStatus } from '../../../src/operator/managed/identity/recorded-status.ts';
import { classify } from '../../../src/operator/managed/object/failure.ts';
import { type Fault, Wire, wires } from './wire.ts';
import { CREDENTIALS, LateOperator, SECRETS, type World } from './world.ts';

/** Reasons that are expected while nothing may be created. */
const OBSERVING: readonly string[] = [REASON.nothingToObserve, REASON.externalNotFound];

/** More than twice as many reconciles as any of our sequences needs to come to rest. */
const MOST_RECONCILES = 40;

export class Life {
  readonly name: string;
  readonly world: World;
  /** Calls that are still on their way. */
  readonly late: (() => Promise<unknown>)[] = [];
  readonly #overlap: string;
  #operator: LateOperator;
  #edits = 0;
  #hasLostAny = false;

  constructor(world: World, name: string, overlap: string) {
    this.world = world;
    this.name = name;
    this.#overlap = overlap;
    this.#operator = new LateOperator(world);
  }

  // What users do.

  find(): Promise<KubeObject | undefined> {
    return this.world.kube.find(CREDENTIALS, this.name, this.world.namespace);
  }

  async create(): Promise<void> {
    const { kube, namespace } = this.world;
    const body = {
      apiVersion: API_VERSION,
      kind: 'TunnelCredential',
      metadata: { name: this.name },
      spec: this.#spec(),
    };
    if (!(await this.find())) await kube.create(CREDENTIALS, body, namespace);
  }

  async edit(): Promise<void> {
    this.#edits++;
    await this.patch({ spec: this.#spec() });
  }

  /** As `kubectl replace`: only the status stays. An object that is being deleted would lose its finalizer: skip it. */
  async replace(): Promise<void> {
    const object = await this.find();
    if (!object || isDeleting(object)) return;
    const { name, uid, resourceVersion } = object.metadata;
    const { kube, namespace } = this.world;
    const { spec, kind, apiVersion } = object;
    await kube.replace(
      CREDENTIALS,
      name,
      { kind, apiVersion, spec, metadata: { name, uid, resourceVersion } },
      namespace,
    );
  }

  async removeFinalizer(): Promise<void> {
    const object = await this.find();
    if (object && !isDeleting(object)) await this.patch({ metadata: { finalizers: null } });
  }

  annotate(annotations: Record<string, string | null>): Promise<void> {
    return this.patch({ metadata: { annotations } });
  }

  async wipeAnnotations(): Promise<void> {
    if (await this.find()) await this.patch({ metadata: { annotations: null } });
  }

  async wipeStatus(): Promise<void> {
    const object = await this.find();
    const { kube, namespace } = this.world;
    if (object) await kube.replace(CREDENTIALS, this.name, { ...object, status: {} }, namespace, 'status');
  }

  /** Under Observe a deletion would rightly leave the credential behind. */
  async observe(): Promise<void> {
    const object = await this.find();
    if (object && !isDeleting(object)) await this.patch({ spec: { managementPolicy: 'Observe' } });
  }

  manage(): Promise<void> {
    return this.patch({ spec: { managementPolicy: 'Manage' } });
  }

  async deleteSecret(): Promise<void> {
    await unlessGone(this.world.kube.delete(SECRETS, this.name, this.world.namespace));
  }

  /** Bypasses the operator, as another client of the API would. */
  async deleteInTheApi(): Promise<void> {
    this.#hasLostAny = true;
    const [id] = await this.credentials();
    if (id !== undefined) await this.world.client.credentials.delete(id);
  }

  /** Without our finalizer, the object would be gone before the operator notices: let it restore that first. */
  async remove(deletionPolicy: 'Delete' | 'Retain' = 'Delete'): Promise<void> {
    // Retain may follow when the credential is already gone.
    if (deletionPolicy === 'Delete') this.#hasLostAny = true;
    await this.patch({ spec: { managementPolicy: 'Manage', deletionPolicy } });
    for (let object = await this.find(); object && !hasFinalizer(object); object = await this.find())
      await this.reconcile();
    await unlessGone(this.world.kube.delete(CREDENTIALS, this.name, this.world.namespace));
  }

  async patch(body: object): Promise<void> {
    await unlessGone(this.world.kube.patch(CREDENTIALS, this.name, body, this.world.namespace));
  }

  // What the operator does.

  /** @param isLate whether the operator has not seen what changed since it last looked */
  async reconcile(faults: readonly Fault[] = [], isLate = false): Promise<'settled' | 'again' | number> {
    if (!isLate) await this.#operator.look(this.name);
    const wire = new Wire(faults, this.late);
    const outcome = await this.#reconcileBy(this.#operator, wire);
    if (wire.isDead) this.#operator = new LateOperator(this.world);
    return outcome;
  }

  /** Another operator reconciles at the same time, as when an old leader has not noticed the loss of its lease. */
  async reconcileTogether(faults: readonly Fault[]): Promise<void> {
    const other = new LateOperator(this.world);
    await other.look(this.name);
    await Promise.all([this.reconcile(faults), this.#reconcileBy(other, new Wire([], this.late))]);
  }

  async #reconcileBy(operator: LateOperator, wire: Wire): Promise<'settled' | 'again' | number> {
    const object = operator.objectNamed(this.name);
    if (!object) return 'settled';
    try {
      const { requeueAfterMs } = await wires.run(wire, () => operator.reconciler.reconcile(object));
      return requeueAfterMs ?? 'settled';
    } catch (error) {
      if (!wire.isDead) this.world.count(this.#mustBeExpected(error));
      return 'again';
    }
  }

  async arrive(which: number): Promise<void> {
    const [call] = this.late.splice(which % Math.max(1, this.late.length), 1);
    // The caller no longer waits for the answer.
    await call?.().catch(() => {});
  }

  /** Delivers every late call, then reconciles until there is nothing left to do. */
  async comeToRest(): Promise<void> {
    await this.manage();
    while (this.late.length > 0) await this.arrive(0);
    for (let turn = 0; turn < MOST_RECONCILES; turn++) {
      const before = await this.find();
      const outcome = await this.reconcile();
      if (typeof outcome === 'number') await new Promise((done) => setTimeout(done, outcome));
      const isUnchanged = before?.metadata.resourceVersion === (await this.find())?.metadata.resourceVersion;
      if (outcome === 'settled' && isUnchanged) return;
    }
    throw new Error(`${this.name} does not come to rest`);
  }

  // What must hold at rest.

  /** All credentials created for objects of this name. */
  async credentials(): Promise<string[]> {
    return this.world.credentialsDescribed(`${this.name} `);
  }

  async mustHoldPromise(): Promise<void> {
    const object = await this.find();
    const ids = await this.credentials();
    if (!object) {
      expect(ids, `${this.name} is deleted; what is left of it`).toEqual([]);
      return;
    }
    const { externalId, retiring } = readIdentity(object);
    expect({ ids, retiring, shown: readStatus(object).id }, this.name).toEqual({
      ids: [externalId],
      retiring: [],
      shown: externalId,
    });
    expect(object.metadata.finalizers).toEqual([FINALIZER]);
    const token = await this.world.tokenIn(this.name);
    expect(await this.world.client.authenticate({ token })).toMatchObject({ allowed: true, credential_id: externalId });
  }

  /**
   * What Retain leaves of an object: at most one credential, and a Secret without an owner whose token works.
   * @param isExactly the credential that must be left, if the object was as declared
   */
  async mustHoldRetained({ metadata: { uid } }: KubeObject, isExactly?: string): Promise<void> {
    const ids = await this.credentials();
    expect(ids.length, `${this.name} is retained`).toBeLessThanOrEqual(1);
    if (isExactly !== undefined) expect(ids).toEqual([isExactly]);
    const secret = await this.world.kube.find(SECRETS, this.name, this.world.namespace);
    const owners = secret?.metadata.ownerReferences?.map((owner) => owner.uid) ?? [];
    expect(owners).not.toContain(uid);
    // The garbage collector deletes an earlier object's Secret. A lost credential may have been this Secret's.
    if (!secret || owners.length > 0 || (this.#hasLostAny && isExactly === undefined)) return;
    const token = await this.world.tokenIn(this.name);
    expect(await this.world.client.authenticate({ token })).toMatchObject({ allowed: true, credential_id: ids[0] });
  }

  #spec() {
    return { description: `${this.name} ${this.#edits}`, rotation: { overlap: this.#overlap } };
  }

  #mustBeExpected(error: unknown): string {
    const failure = classify(error);
    if (failure.kind === 'stale') return failure.kind;
    const { reason } = failure;
    if (failure.kind === 'transient' ? reason === REASON.internalError : !OBSERVING.includes(reason)) throw error;
    return reason;
  }
}

async function unlessGone(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!(error instanceof KubeError && error.isNotFound)) throw error;
  });
}
