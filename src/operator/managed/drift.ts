/** Whether an object needs a closer look after its family was listed. Pure. */
import { CONDITION } from '../contract/reasons.ts';
import { findCondition, sameStatus } from '../kube/conditions.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import type { External, Remote } from './external.ts';
import { observedSynced } from './findings.ts';
import { claimOf, readIdentity } from './identity.ts';
import { isDeleting, isPaused, type ManagedSpec, readStatus } from './spec.ts';

/** What the controller needs of a kind, beside reconciling. */
export interface Comparison<Spec extends ManagedSpec, R extends Remote> {
  external: Pick<External<Spec, R>, 'all' | 'changes'>;
  /** What the status shows of a resource. */
  describe: (spec: Spec, remote: R, object: KubeObject) => Record<string, unknown>;
  parseSpec: (object: KubeObject) => Spec;
  /** Whether what was handed out is in its place, by what the caches say. */
  looksHeld: (object: KubeObject, spec: Spec) => boolean;
}

/**
 * @param spec undefined when it does not parse: that is for the object's own reconcile to say
 * @param remotes everything that the list had, by id
 */
export function differs<Spec extends ManagedSpec, R extends Remote>(
  comparison: Pick<Comparison<Spec, R>, 'external' | 'describe'>,
  spec: Spec | undefined,
  object: KubeObject,
  remotes: ReadonlyMap<string, R>,
): boolean {
  const isObserved = spec?.managementPolicy === 'Observe';
  const id = isObserved ? claimOf(object) : readIdentity(object).externalId;
  if (!spec || id === undefined || isDeleting(object) || isPaused(object)) return false;
  const remote = remotes.get(id);
  const { external, describe } = comparison;
  if (isObserved)
    return !shows(object, remote && describe(spec, remote, object), remote && external.changes(spec, remote));
  return !remote || external.changes(spec, remote).length > 0;
}

/** Whether the status of an object that only observes says what there is to see; nothing, when it is gone. */
function shows(object: KubeObject, described?: Record<string, unknown>, changes?: readonly string[]): boolean {
  const status = readStatus(object);
  const synced = findCondition(status.conditions ?? [], CONDITION.synced);
  if (!described || !changes) return synced?.status !== 'True';
  const isDescribed = Object.entries(described).every(([name, value]) => sameStatus(status[name], value));
  return isDescribed && synced?.message === observedSynced(changes).message;
}
