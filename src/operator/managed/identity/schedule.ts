/** When the next work is due without any change: a rotation, a renewal, a revocation. Pure. */
import type { KubeObject } from '../../kube/kube-object.ts';
import { readIdentity } from './identity.ts';
import { readStatus } from './recorded-status.ts';

/** As the last reconcile planned it; undefined if nothing is due. */
export function plannedWork(object: KubeObject): Date | undefined {
  const { rotatesAt, renewsAt } = readStatus(object);
  const times = readIdentity(object).retiring.map(({ after }) => after);
  for (const at of [rotatesAt, renewsAt]) if (typeof at === 'string') times.push(at);
  return times.map((time) => new Date(time)).reduce<Date | undefined>(earliest, undefined);
}

/** The earlier of two times, either of which may be missing. */
export function earliest(a: Date | undefined, b: Date | undefined): Date | undefined {
  if (!a || !b) return a ?? b;
  return a < b ? a : b;
}
