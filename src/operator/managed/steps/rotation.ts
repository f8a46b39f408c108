/**
 * Rotating a one-time value of a resource that stays. As with a create, the key is recorded before the API is asked, and the
 * value is in its Secret before the record is removed. Whatever fails in between, the same key gives the same value.
 *
 * The API restarts the overlap when the call is repeated, so that the old value works until receivers can have the new one.
 */
import { ApiError } from '../../../client/errors.ts';
import { EVENT_REASON } from '../../contract/reasons.ts';
import { type Remote, type Renewal, StaleObject } from '../declaration/external.ts';
import { valueIn } from '../declaration/handout.ts';
import type { ManagedSpec } from '../declaration/spec.ts';
import { readIdentity } from '../identity/identity.ts';
import type { ManagedObject } from '../object/managed-object.ts';
import {
  type BegunRotation,
  newRotation,
  ROTATION_ENDED,
  readRotation,
  rotationBegun,
} from '../secrets/begun-rotation.ts';
import { requireDeliverable } from './handover.ts';

/** After this many keys in one reconcile, the rotation is left to the next one. */
const MOST_KEYS_AT_ONCE = 3;

/** Returns the resource once its new value is in the Secret. @throws Blocked before the API is asked, if it cannot be stored */
export async function rotate(
  managed: ManagedObject,
  spec: ManagedSpec,
  { id }: Remote,
  renewal: Renewal,
): Promise<Remote> {
  // Once it has rotated, the former value cannot be brought back.
  await requireDeliverable(managed, spec, true);
  const rotation = await begin(managed, id, renewal.overlapMs);
  announce(managed, renewal);
  return finish(managed, spec, rotation);
}

/** The same for a rotation that an earlier reconcile has begun; undefined if there is none. */
export async function resumeRotation(managed: ManagedObject, spec: ManagedSpec): Promise<Remote | undefined> {
  const rotation = managed.kind.external.rotate && readRotation(managed.object);
  if (!rotation) return undefined;
  // A stale cache could have one that has ended.
  await managed.mustBeNewest();
  return finish(managed, spec, rotation);
}

/** Tells the user that a new one-time value takes the place of another. */
export function announce(managed: ManagedObject, { cause, message }: Renewal): void {
  if (cause === 'lost') managed.recordEvent('Warning', EVENT_REASON.tokenReissued, message);
  else managed.recordEvent('Normal', EVENT_REASON.tokenRotated, message);
  managed.reissued = cause;
}

async function begin(managed: ManagedObject, id: string, overlapMs: number): Promise<BegunRotation> {
  const rotation = newRotation(id, overlapMs);
  await managed.persist(readIdentity(managed.object), rotationBegun(managed.object, rotation));
  return rotation;
}

async function finish(managed: ManagedObject, spec: ManagedSpec, begun: BegunRotation): Promise<Remote> {
  const { name, delivery } = managed.kind;
  let rotation = begun;
  for (let attempt = 0; attempt < MOST_KEYS_AT_ONCE; attempt++) {
    const remote = await valueUnder(managed, rotation);
    if (remote) {
      await delivery?.deliver(managed, spec, remote);
      await managed.persist(readIdentity(managed.object), ROTATION_ENDED);
      managed.metrics.credentialsIssued.inc({ kind: name, cause: managed.reissued ?? 'resumed' });
      return remote;
    }
    rotation = await begin(managed, rotation.id, rotation.overlap * 1000);
  }
  throw new StaleObject(`no rotation succeeded under ${MOST_KEYS_AT_ONCE} keys`);
}

/** The resource with the value issued under this key; undefined if that cannot be had, now or later. */
async function valueUnder({ kind, manager }: ManagedObject, rotation: BegunRotation): Promise<Remote | undefined> {
  const { id, key: idempotencyKey, overlap } = rotation;
  const { external, delivery } = kind;
  try {
    const remote = await external.rotate?.(id, { idempotencyKey, overlap, manager });
    // The next reconcile creates another one.
    if (!remote) throw new StaleObject(`${id} was deleted while it was rotated`);
    const isShown = delivery !== undefined && valueIn(delivery.handout, remote) !== undefined;
    return isShown ? remote : undefined;
  } catch (error) {
    // The annotation was edited.
    if (error instanceof ApiError && error.code === 'IDEMPOTENCY_KEY_REUSED') return undefined;
    throw error;
  }
}
