/**
 * The one reconcile of every kind. It reads the newest object, compares it with the API, does the least that makes them
 * equal and writes the status once, only if it says something new.
 *
 * What makes it safe to kill at any point:
 *   1. the finalizer and the create generation are written, in one patch, before anything is created;
 *   2. the create carries an idempotency key made of the object's UID and that generation;
 *   3. what is handed out once (a token) is put in its place before the id is recorded;
 *   4. every write of the object's metadata fails if the object has changed since it was read;
 *   5. a deletion closes the key first, so that a create still on its way cannot leave an orphan.
 */
import { ApiError } from '../../client/errors.ts';
import { ANNOTATION } from '../contract/names.ts';
import { CONDITION, EVENT, REASON } from '../contract/reasons.ts';
import type { Finding } from '../kube/conditions.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';
import { Disposal, earliest } from './disposal.ts';
import { Blocked, type Delivery, type External, type Remote, type Renewal, StaleObject } from './external.ts';
import {
  available,
  driftCorrected,
  observedReady,
  observedSynced,
  tokenUnavailable,
  UP_TO_DATE,
  unchanged,
} from './findings.ts';
import {
  claimOf,
  type Identity,
  idempotencyKeyOf,
  identityInStatus,
  nextGeneration,
  readIdentity,
} from './identity.ts';
import { Work, type Writer } from './managed-object.ts';
import {
  hasFinalizer,
  isDeleting,
  isPaused,
  lostIdentity,
  type ManagedSpec,
  readPolicies,
  readStatus,
  wasInSync,
} from './spec.ts';

export interface ManagedReconcilerOptions<Spec extends ManagedSpec, R extends Remote> {
  writer: Writer;
  external: External<Spec, R>;
  delivery?: Delivery<Spec, R> | undefined;
  parseSpec: (object: KubeObject) => Spec;
  /** What the status shows of the resource, beside id, uri and conditions. */
  describe: (spec: Spec, remote: R, object: KubeObject) => Record<string, unknown>;
  /** The object that claims this id with more right than `object`, if any. */
  rivalOf: (object: KubeObject, id: string) => KubeObject | undefined;
  onDriftCorrected: () => void;
  onIssued: (cause: Renewal['cause'] | 'created') => void;
}

export interface Outcome {
  /** The object as last read or written; its version is the one that needs no further work. */
  object: KubeObject;
  requeueAfterMs?: number;
}

interface Settled<R> {
  remote: R;
  ready: Finding;
  synced: Finding;
  /** When there is something to do without any change, such as a rotation. */
  dueAt?: Date | undefined;
}

/** A create that had to start over this often in one reconcile is left to the next one. */
const MOST_GENERATIONS_AT_ONCE = 3;

export class ManagedReconciler<Spec extends ManagedSpec, R extends Remote> {
  readonly #o: ManagedReconcilerOptions<Spec, R>;
  readonly #disposal: Disposal;

  constructor(options: ManagedReconcilerOptions<Spec, R>) {
    this.#o = options;
    this.#disposal = new Disposal(options.external, options.delivery);
  }

  /** @throws Blocked, StaleObject, and what the clients of the two APIs throw */
  async reconcile(object: KubeObject): Promise<Outcome> {
    const work = new Work(object, this.#o.writer);
    if (isPaused(object)) return this.#paused(work);
    await this.#restoreIdentity(work);
    if (isDeleting(object)) return this.#finalize(work);
    const spec = this.#o.parseSpec(object);
    if (spec.managementPolicy === 'Observe') return this.#observeOnly(work, spec);
    this.#mustNotHaveRival(work.object);
    await this.#ensureAdopted(work);
    await this.#ensureIntent(work);
    const settled = (await this.#ensureAsDeclared(work, spec)) ?? (await this.#ensureCreated(work, spec));
    const nextRetirement = await this.#disposal.retireSuperseded(work, this.#now());
    await this.#writeStatus(work, spec, settled);
    return this.#outcome(work, earliest(settled.dueAt, nextRetirement));
  }

  /** Records a failure in the conditions. `keepReady` for trouble that says nothing about the resource itself. */
  async recordFailure(object: KubeObject, reason: string, message: string, keepReady: boolean): Promise<KubeObject> {
    const finding: Finding = { status: 'False', reason, message };
    const wasReady = readStatus(object).conditions?.some((c) => c.type === CONDITION.ready && c.status === 'True');
    const findings =
      keepReady && wasReady
        ? { [CONDITION.synced]: finding }
        : { [CONDITION.ready]: finding, [CONDITION.synced]: finding };
    const work = new Work(object, this.#o.writer);
    await work.patchStatus(findings, keepReady ? {} : { observedGeneration: object.metadata.generation });
    const isNews = work.object !== object;
    if (isNews) work.record('Warning', reason, message);
    return work.object;
  }

  async #paused(work: Work): Promise<Outcome> {
    const message = `Work on this object is paused by the annotation ${ANNOTATION.paused}`;
    await work.patchStatus({ [CONDITION.synced]: { status: 'False', reason: REASON.paused, message } });
    return { object: work.object };
  }

  // What belongs to the object.

  #mustNotHaveRival(object: KubeObject): void {
    const claim = claimOf(object);
    const rival = claim === undefined ? undefined : this.#o.rivalOf(object, claim);
    if (!rival) return;
    const { namespace, name } = rival.metadata;
    const message = `${claim} is already managed by the older ${this.#o.writer.kind} ${namespace}/${name}`;
    throw new Blocked(REASON.managementConflict, message);
  }

  async #restoreIdentity(work: Work): Promise<void> {
    const lost = lostIdentity(work.object);
    // An object that is being deleted takes no finalizer any more: without one, it is not ours to hold.
    if (!lost || (isDeleting(work.object) && !hasFinalizer(work.object))) return;
    // The status may be one step behind: what was begun after it is superseded, and nothing more can come of it.
    const begun = lost.generation + 1;
    const late = await this.#disposal.closeKey(work, begun);
    const after = this.#now().toISOString();
    const retiring = late === undefined ? lost.retiring : [...lost.retiring, { id: late, generation: begun, after }];
    await work.persist({ ...lost, retiring }, rotationHandled(work.object));
  }

  async #ensureAdopted(work: Work): Promise<void> {
    const adopt = annotation(work.object, ANNOTATION.adopt);
    const identity = readIdentity(work.object);
    if (!adopt || identity.externalId !== undefined || identity.generation > 0) return;
    if (!(await this.#o.external.observe(adopt))) {
      throw new Blocked(
        REASON.externalNotFound,
        `${adopt}, named by the annotation ${ANNOTATION.adopt}, does not exist`,
      );
    }
    await work.persist({ ...identity, externalId: adopt }, rotationHandled(work.object));
    work.record('Normal', EVENT.adopted, `Took over ${adopt}`);
  }

  /** Finalizer and create generation, in one write, before anything exists to be lost. */
  async #ensureIntent(work: Work): Promise<void> {
    const identity = readIdentity(work.object);
    const isBegun = identity.externalId !== undefined || identity.generation > 0;
    if (isBegun && hasFinalizer(work.object)) return;
    if (isBegun) await work.persist(identity);
    else await work.persist(nextGeneration(identity), rotationHandled(work.object));
  }

  // Making it so.

  /** Undefined when there is no resource, or when it has to be replaced; the identity then says what to create. */
  async #ensureAsDeclared(work: Work, spec: Spec): Promise<Settled<R> | undefined> {
    const { external, delivery } = this.#o;
    const identity = readIdentity(work.object);
    if (identity.externalId === undefined) return undefined;
    const remote = await external.observe(identity.externalId);
    if (!remote) {
      // Its key went with it, so a create that is still on its way would take effect: that must not become an orphan.
      const late = await this.#disposal.closeKey(work, identity.generation);
      await work.persist(nextGeneration(identity, late === undefined ? undefined : { id: late, after: this.#now() }));
      work.record('Warning', EVENT.recreated, `${identity.externalId} is gone; creating it anew`);
      return undefined;
    }
    const renewal = delivery?.renewal(work.object, spec, remote, this.#now());
    if (renewal?.due) {
      await this.#supersede(work, identity, remote, renewal.due);
      return undefined;
    }
    const held = delivery ? await delivery.deliver(work.object, spec, remote) : 'held';
    if (held === 'lost' && identity.generation > 0) {
      await this.#supersede(work, identity, remote, LOST);
      return undefined;
    }
    const settled = await this.#updated(work, spec, remote);
    return held === 'held' ? settled : { ...settled, ready: tokenUnavailable(remote.id) };
  }

  async #ensureCreated(work: Work, spec: Spec): Promise<Settled<R>> {
    const { delivery } = this.#o;
    // A cache that lags behind could name a generation that is long past.
    await work.mustBeNewest();
    await delivery?.prepare(work.object, spec);
    for (let attempt = 0; attempt < MOST_GENERATIONS_AT_ONCE; attempt++) {
      const identity = readIdentity(work.object);
      const created = await this.#create(work, spec, identity);
      if (created === 'key-closed') {
        await work.persist(nextGeneration(identity));
        continue;
      }
      const held = delivery ? await delivery.deliver(work.object, spec, created) : 'held';
      if (held === 'lost') {
        await this.#supersede(work, identity, created, LOST);
        continue;
      }
      await work.persist({ ...identity, externalId: created.id });
      work.record('Normal', EVENT.created, `Created ${created.id}`);
      if (delivery && identity.generation === 1) this.#o.onIssued('created');
      return this.#updated(work, spec, created);
    }
    throw new StaleObject(`no create took hold in ${MOST_GENERATIONS_AT_ONCE} generations`);
  }

  async #create(work: Work, spec: Spec, identity: Identity): Promise<R | 'key-closed'> {
    const { external } = this.#o;
    try {
      return await external.create(spec, idempotencyKeyOf(work.object, identity.generation));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'CONFLICT' && error.details.idempotency_key === 'closed') return 'key-closed';
      // Created by an earlier attempt from an older spec: what exists is brought up to date instead.
      const existing = error.code === 'IDEMPOTENCY_KEY_REUSED' ? error.details.resource_id : undefined;
      const remote = existing === undefined ? undefined : await external.observe(existing);
      if (!remote) throw error;
      return remote;
    }
  }

  async #updated(work: Work, spec: Spec, remote: R): Promise<Settled<R>> {
    const { external, delivery } = this.#o;
    const status = readStatus(work.object);
    const ready = available(remote);
    const dueAt = delivery?.renewal(work.object, spec, remote, this.#now()).at;
    const changes = external.changes(spec, remote);
    if (changes.length === 0) return { remote, ready, synced: unchanged(status, work.object), dueAt };
    const updated = await external.update(remote, spec);
    const fields = changes.map((name) => `spec.${name}`).join(', ');
    const isDrift = wasInSync(status, work.object) && status.id === remote.id;
    if (!isDrift) {
      work.record('Normal', EVENT.updated, `Updated ${fields} of ${remote.id}`);
      return { remote: updated, ready, synced: UP_TO_DATE, dueAt };
    }
    this.#o.onDriftCorrected();
    const synced = driftCorrected(remote, fields);
    work.record('Warning', EVENT.driftCorrected, synced.message);
    return { remote: updated, ready, synced, dueAt };
  }

  // Replacing.

  /** Has the next create make another resource. The present one goes when its time has come, which is recorded too. */
  async #supersede(work: Work, identity: Identity, remote: R, renewal: Renewal): Promise<void> {
    const after = new Date(this.#now().getTime() + renewal.overlapMs);
    await work.persist(nextGeneration(identity, { id: remote.id, after }), renewal.annotations);
    if (renewal.cause === 'lost') work.record('Warning', EVENT.tokenReissued, renewal.message);
    else work.record('Normal', EVENT.tokenRotated, renewal.message);
    this.#o.onIssued(renewal.cause);
  }

  // Letting go.

  async #finalize(work: Work): Promise<Outcome> {
    const { object } = work;
    if (!hasFinalizer(object)) return { object };
    const spec = readPolicies(object);
    const claim = claimOf(object);
    const isRivalled = claim !== undefined && this.#o.rivalOf(object, claim) !== undefined;
    if (spec.managementPolicy === 'Manage' && !isRivalled) {
      if (spec.deletionPolicy === 'Delete') await this.#disposal.deleteRemote(work);
      else await this.#disposal.retain(work);
    }
    await work.removeFinalizer();
    return { object: work.object };
  }

  // Observing.

  async #observeOnly(work: Work, spec: Spec): Promise<Outcome> {
    const id = claimOf(work.object);
    if (id === undefined) {
      const message = `managementPolicy Observe needs the annotation ${ANNOTATION.adopt} with the id to observe`;
      throw new Blocked(REASON.nothingToObserve, message);
    }
    const remote = await this.#o.external.observe(id);
    if (!remote) throw new Blocked(REASON.externalNotFound, `${id} does not exist`);
    const synced = observedSynced(this.#o.external.changes(spec, remote));
    await this.#writeStatus(work, spec, { remote, ready: observedReady(remote), synced });
    return { object: work.object };
  }

  async #writeStatus(work: Work, spec: Spec, { remote, ready, synced }: Settled<R>): Promise<void> {
    const about = {
      id: remote.id,
      uri: remote.uri,
      ...identityInStatus(readIdentity(work.object)),
      ...this.#o.describe(spec, remote, work.object),
      observedGeneration: work.object.metadata.generation,
    };
    await work.patchStatus({ [CONDITION.ready]: ready, [CONDITION.synced]: synced }, about);
  }

  #now(): Date {
    return this.#o.writer.now();
  }

  #outcome(work: Work, dueAt: Date | undefined): Outcome {
    if (!dueAt) return { object: work.object };
    return { object: work.object, requeueAfterMs: Math.max(0, dueAt.getTime() - this.#now().getTime()) };
  }
}

const LOST: Renewal = {
  cause: 'lost',
  overlapMs: 0,
  message: 'The token is not in its Secret any more; issuing a new one and revoking the old',
  annotations: {},
};

/** A rotation that was asked for before there was anything to rotate needs none. */
function rotationHandled(object: KubeObject): Record<string, string> {
  const requested = annotation(object, ANNOTATION.rotateRequestedAt);
  return requested === undefined ? {} : { [ANNOTATION.rotateHandledAt]: requested };
}
