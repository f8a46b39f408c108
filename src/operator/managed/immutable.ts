/** A resource that differs in a field which cannot be changed is not updated for ever, but reported. */
import { REASON } from '../contract/reasons.ts';
import { Blocked, type External, type Remote } from './external.ts';

/** @throws Blocked when no update could make the resource as declared */
export function mustBeChangeable<Spec, R extends Remote>(
  external: Pick<External<Spec, R>, 'immutableChanges'>,
  spec: Spec,
  remote: R,
): void {
  const fields = external.immutableChanges(spec, remote).map((name) => `spec.${name}`);
  if (fields.length === 0) return;
  throw new Blocked(
    REASON.rejected,
    `${remote.id} differs in ${fields.join(', ')}, which cannot be changed: delete this object, or make one that declares what ${remote.id} has`,
  );
}
