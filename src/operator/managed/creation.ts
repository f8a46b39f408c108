/** Creating the remote resource exactly once, however often the attempt is interrupted. */
import { ApiError } from '../../client/errors.ts';
import { EVENT_REASON } from '../contract/reasons.ts';
import { type Remote, StaleObject } from './external.ts';
import { idempotencyKeyOf, nextGeneration, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { type FoundRemote, LOST, supersede } from './replacement.ts';
import type { ManagedSpec } from './spec.ts';

/** After this many fresh starts in one reconcile, the create is left to the next one. */
const MOST_GENERATIONS_AT_ONCE = 3;

/** Returns the resource of the object's create generation, or of the next if that one can no longer be used. */
export async function createRemote(managed: ManagedObject, spec: ManagedSpec): Promise<FoundRemote> {
  const { delivery } = managed.kind;
  // A stale cache could hold an outdated generation.
  await managed.mustBeNewest();
  await delivery?.prepare(managed.object, spec);
  for (let attempt = 0; attempt < MOST_GENERATIONS_AT_ONCE; attempt++) {
    const identity = readIdentity(managed.object);
    const remote = await createOnce(managed, spec, identity.generation);
    if (remote === 'key-closed') {
      await managed.persist(nextGeneration(identity));
      continue;
    }
    const held = delivery ? await delivery.deliver(managed.object, spec, remote) : 'held';
    if (held === 'lost') {
      await supersede(managed, remote, LOST);
      continue;
    }
    await managed.persist({ ...identity, externalId: remote.id });
    managed.recordEvent('Normal', EVENT_REASON.created, `Created ${remote.id}`);
    if (delivery && identity.generation === 1) managed.metrics.credentialsIssued.inc({ cause: 'created' });
    return { remote, isHeld: true };
  }
  throw new StaleObject(`no create succeeded in ${MOST_GENERATIONS_AT_ONCE} generations`);
}

async function createOnce(
  managed: ManagedObject,
  spec: ManagedSpec,
  generation: number,
): Promise<Remote | 'key-closed'> {
  const { external } = managed.kind;
  try {
    return await external.create(spec, idempotencyKeyOf(managed.object, generation));
  } catch (error) {
    const earlier = earlierCreate(error);
    if (earlier === 'key-closed') return earlier;
    // An earlier attempt created it from an older spec: it exists and is updated later instead.
    const remote = earlier && (await external.observe(earlier.id));
    if (!remote) throw error;
    return remote;
  }
}

/**
 * What a failed create reveals about an earlier one under its key: closed, or the id it created; undefined for neither.
 */
export function earlierCreate(error: unknown): 'key-closed' | { id: string } | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.code === 'CONFLICT' && error.details.idempotency_key === 'closed') return 'key-closed';
  const id = error.code === 'IDEMPOTENCY_KEY_REUSED' ? error.details.resource_id : undefined;
  return id === undefined ? undefined : { id };
}
