/** A reference or a source that cannot be used yet: shown in the condition ReferencesResolved. */
import { REASON, type Reason } from '../../contract/reasons.ts';
import { Blocked } from '../external.ts';

export const UNRESOLVED_REASONS: readonly Reason[] = [
  REASON.referenceNotFound,
  REASON.referenceNotReady,
  REASON.referenceDeleting,
  REASON.referenceNotPermitted,
  REASON.sourceNotFound,
  REASON.sourceInvalid,
];

export function unresolved(reason: Reason, path: string, message: string): Blocked {
  return new Blocked(reason, `${path}: ${message}`);
}
