/** The period for which a certificate is valid. */

import type { Refusal } from '../../resources/definition/errors.ts';
import { showSecond } from '../../resources/formats/text.ts';

export interface Asked {
  valid_after?: string | null | undefined;
  valid_until?: string | null | undefined;
}

/** Fills in missing ends: valid from now, for a year. RFC 3339, in whole seconds. */
export function validityOf(
  { valid_after, valid_until }: Asked,
  now: number,
): { valid_after: string; valid_until: string } | Refusal {
  const from = valid_after == null ? new Date(Math.floor(now / 1000) * 1000) : new Date(valid_after);
  const until = valid_until == null ? yearAfter(new Date(Math.max(from.getTime(), now))) : new Date(valid_until);
  if (until.getUTCFullYear() > 9999) return { reason: 'would be after the year 9999; give an earlier one' };
  if (until <= from) {
    // The reason leaves out the current time: the operator shows it, so it must be the same at every attempt.
    if (valid_after == null) return { reason: 'must be in the future' };
    const fixed = 'must be after valid_after';
    return { reason: `${fixed}, which is ${showSecond(from.toISOString())}`, fixed };
  }
  return { valid_after: from.toISOString(), valid_until: until.toISOString() };
}

/** The same day of the next year; in whole seconds. */
function yearAfter(time: Date): Date {
  const later = new Date(time);
  later.setUTCFullYear(later.getUTCFullYear() + 1);
  later.setUTCMilliseconds(0);
  return later;
}
