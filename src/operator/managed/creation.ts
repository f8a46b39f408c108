/** Creating the remote resource, once, however often the attempt is broken off. */
import { ApiError } from '../../client/errors.ts';
import { EVENT_REASON } from '../contract/reasons.ts';
import { type Remote, StaleObject } from './external.ts';
import { idempotencyKeyOf, nextGeneration, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import { type FoundRemote, LOST, supersede } from './replacement.ts';
import type { ManagedSpec } from './spec.ts';

/** A create that had to start over this often in one reconcile is left to the next one. */
const MOST_GENERATIONS_AT_ONCE = 3;

/** The resource of the generation that the object carries, or, where that cannot be had any more, of the next. */
export async function createRemote(managed: ManagedObject, spec: ManagedSpec): Promise<FoundRemote> {
  const { delivery } = managed.kind;
  // A cache that lags behind could name a generation that is long past.
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
  throw new StaleObject(`no create took hold in ${MOST_GENERATIONS_AT_ONCE} generations`);
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
    // Created by an earlier attempt from an older spec: what exists is brought up to date instead.
    const remote = earlier && (await external.observe(earlier.id));
    if (!remote) throw error;
    return remote;
  }
}

/** What a refused create says of an earlier one under its key: closed since, or what it made; undefined for neither. */
export function earlierCreate(error: unknown): 'key-closed' | { id: string } | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (error.code === 'CONFLICT' && error.details.idempotency_key === 'closed') return 'key-closed';
  const id = error.code === 'IDEMPOTENCY_KEY_REUSED' ? error.details.resource_id : undefined;
  return id === undefined ? undefined : { id };
}
