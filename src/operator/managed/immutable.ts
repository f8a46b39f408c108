/** Differences in immutable fields: they are reported instead of being updated in vain for ever. */
import { REASON } from '../contract/reasons.ts';
import { Blocked, type External, type Remote } from './external.ts';

/** @throws Blocked when no update can make the resource match the spec */
export function mustBeChangeable<Spec, R extends Remote>(
  external: Pick<External<Spec, R>, 'immutableChanges'>,
  spec: Spec,
  remote: R,
): void {
  const fields = external.immutableChanges(spec, remote).map((name) => `spec.${name}`);
  if (fields.length === 0) return;
  throw new Blocked(
    REASON.rejected,
    `${remote.id} differs in ${fields.join(', ')}, which cannot be changed: delete this object and create one that matches ${remote.id}`,
  );
}
