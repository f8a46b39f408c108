/** The end of a resource that stops being of use by itself. Pure. */
import { REASON } from '../contract/reasons.ts';
import type { Finding, Remote } from './external.ts';
import type { End } from './kind.ts';

/** How long the resource lasts; not positive once it is over, undefined if it has no end. */
export function msToEnd(end: End<Remote> | undefined, remote: Remote, now: Date): number | undefined {
  const at = end?.of(remote) ?? undefined;
  // The clock of the cluster may be another.
  return at === undefined ? undefined : Date.parse(at) - (remote.answeredAt ?? now).getTime();
}

export function expired(remote: Remote, { of, remedy }: End<Remote>): Finding {
  return { status: 'False', reason: REASON.expired, message: `${remote.id} expired at ${of(remote)}: ${remedy}` };
}
