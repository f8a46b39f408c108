/** Creating the remote resource exactly once, however often the attempt is interrupted. */
import { ApiError } from '../../../client/errors.ts';
import { EVENT_REASON } from '../../contract/reasons.ts';
import { type Remote, StaleObject } from '../declaration/external.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { type Identity, idempotencyOf, readIdentity, renumbered } from '../identity/identity.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import { observeVisible } from '../object/not-found.ts';
import { claimedBy } from './claim.ts';
import { guarded } from './guarding.ts';
import { handOver, requireDeliverable } from './handover.ts';
import { recoverIdentity } from './recovery.ts';
import { changedForGood, type FoundRemote, lost, supersede } from './replacement.ts';

/** After this many fresh starts in one reconcile, the create is left to the next one. */
const MOST_GENERATIONS_AT_ONCE = 3;

/**
 * Returns the resource of the object's create generation, or of the next if the token of that one is lost.
 * @throws StaleObject when the API does not expect this create: the object then carries what the API knows of it
 */
export async function createRemote(managed: ManagedObject, spec: ManagedSpec): Promise<FoundRemote> {
  const { delivery } = managed.kind;
  // A stale cache could hold an outdated generation.
  await requireDeliverable(managed, spec);
  for (let attempt = 0; attempt < MOST_GENERATIONS_AT_ONCE; attempt++) {
    const isExpected = await ensureExpected(managed);
    const identity = readIdentity(managed.object);
    const remote = isExpected ? await createOnce(managed, spec, identity) : 'refused';
    if (remote === 'refused') {
      await recoverIdentity(managed);
      throw new StaleObject('its annotations were not those of its last create');
    }
    // An earlier attempt created it from an older spec.
    const changed = changedForGood(managed, spec, remote);
    if (changed) {
      await supersede(managed, spec, remote, changed);
      continue;
    }
    const held = await handOver(managed, spec, remote, identity.generation);
    if (delivery && held === 'lost') {
      await supersede(managed, spec, remote, lost(delivery.handout));
      continue;
    }
    await managed.persist({ ...identity, externalId: remote.id }, claimedBy(managed.manager));
    managed.recordEvent('Normal', EVENT_REASON.created, `Created ${remote.id}`);
    if (managed.replaces !== undefined) managed.recordEvent('Normal', EVENT_REASON.replaced, managed.replaces);
    if (delivery) {
      const cause = managed.reissued ?? (identity.generation === 1 ? 'created' : 'resumed');
      managed.metrics.credentialsIssued.inc({ kind: managed.kind.name, cause });
    }
    return { remote, isHeld: true };
  }
  throw new StaleObject(`no create succeeded in ${MOST_GENERATIONS_AT_ONCE} generations`);
}

/**
 * Whether the API expects a create of this generation, or of an earlier one. After an edit or a restore of the API, the
 * generation may be too high. Such a create must not be sent: if it arrived late, the API could accept it once other creates
 * have reached its number. An expected create is refused once the scope is closed or its number is taken. In an empty
 * scope, as after a restore under another UID, the create becomes the first.
 */
async function ensureExpected(managed: ManagedObject): Promise<boolean> {
  const identity = readIdentity(managed.object);
  if (identity.generation <= 1) return true;
  const { nextSequence } = await managed.kind.external.scope(managed.object.metadata.uid);
  if (nextSequence === 1) await managed.persist(renumbered(identity, nextSequence));
  return nextSequence === 1 || nextSequence >= identity.generation;
}

async function createOnce(managed: ManagedObject, spec: ManagedSpec, identity: Identity): Promise<Remote | 'refused'> {
  const { manager } = managed;
  const { external } = managed.kind;
  const { spec: first } = await guarded(managed, spec);
  try {
    return await external.create(first, { ...idempotencyOf(managed.object, identity), manager });
  } catch (error) {
    const earlier = earlierCreate(error);
    if (earlier === 'refused') return earlier;
    // The error has only part of the id of a nested resource; the scope has the whole id.
    if (earlier && !external.isId(earlier.id)) return 'refused';
    // An earlier attempt created it from an older spec. Update it before recording it as created.
    const remote = earlier && (await observeVisible(managed, { id: earlier.id, generation: identity.generation }));
    if (!remote) throw error;
    if (external.replacingChanges(spec, remote).length > 0) return remote;
    const { spec: allowed } = await guarded(managed, spec, remote);
    return external.changes(allowed, remote).length > 0 ? await external.update(remote, allowed, { manager }) : remote;
  }
}

/**
 * What a failed create reveals about earlier ones: `refused` if they took its number, or the id that an earlier attempt with
 * its key created; undefined for neither.
 */
export function earlierCreate(error: unknown): 'refused' | { id: string } | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const { idempotency_key: key, idempotency_scope: scope } = error.details;
  if (error.code === 'CONFLICT' && (key === 'closed' || scope !== undefined)) return 'refused';
  const id = error.code === 'IDEMPOTENCY_KEY_REUSED' ? error.details.resource_id : undefined;
  return id === undefined ? undefined : { id };
}
