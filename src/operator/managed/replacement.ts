/** Whether the recorded resource can stay, and what is recorded so that the next create makes another in its place. */
import { EVENT_REASON } from '../contract/reasons.ts';
import { closeKey } from './disposal.ts';
import type { Remote, Renewal } from './external.ts';
import { nextGeneration, readIdentity } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';
import type { ManagedSpec } from './spec.ts';

export interface FoundRemote {
  remote: Remote;
  /** Whether what was handed out with it is in its place; always true for kinds that hand out nothing. */
  isHeld: boolean;
}

/** Undefined when there is no resource, or when it has to be replaced; the identity then says what to create. */
export async function findRemote(managed: ManagedObject, spec: ManagedSpec): Promise<FoundRemote | undefined> {
  const { external, delivery } = managed.kind;
  const { externalId, generation } = readIdentity(managed.object);
  if (externalId === undefined) return undefined;
  const remote = await external.observe(externalId);
  if (!remote) return recreate(managed, externalId);
  const renewal = delivery?.renewal(managed.object, spec, remote, new Date());
  if (renewal?.due) return supersede(managed, remote, renewal.due);
  const held = delivery ? await delivery.deliver(managed.object, spec, remote) : 'held';
  // What was adopted, and never had its token here, is left as it is until its rotation is asked for.
  if (held === 'lost' && generation > 0) return supersede(managed, remote, LOST);
  return { remote, isHeld: held === 'held' };
}

/** The recorded resource is gone. */
async function recreate(managed: ManagedObject, id: string): Promise<undefined> {
  const identity = readIdentity(managed.object);
  // Its key went with it, so a create that is still on its way would take effect: that must not become an orphan.
  const late = await closeKey(managed, identity.generation);
  await managed.persist(nextGeneration(identity, late === undefined ? undefined : { id: late, after: new Date() }));
  managed.recordEvent('Warning', EVENT_REASON.recreated, `${id} is gone; creating it anew`);
}

/** Has the next create make another resource. The present one goes when its time has come, which is recorded too. */
export async function supersede(managed: ManagedObject, remote: Remote, renewal: Renewal): Promise<undefined> {
  const after = new Date(Date.now() + renewal.overlapMs);
  const next = nextGeneration(readIdentity(managed.object), { id: remote.id, after });
  await managed.persist(next, renewal.annotations);
  if (renewal.cause === 'lost') managed.recordEvent('Warning', EVENT_REASON.tokenReissued, renewal.message);
  else managed.recordEvent('Normal', EVENT_REASON.tokenRotated, renewal.message);
  managed.metrics.credentialsIssued.inc({ cause: renewal.cause });
}

export const LOST: Renewal = {
  cause: 'lost',
  overlapMs: 0,
  message: 'The token is not in its Secret any more; issuing a new one and revoking the old',
  annotations: {},
};
