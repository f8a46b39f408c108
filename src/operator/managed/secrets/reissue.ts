/** When to replace a value that expires, such as a certificate. Pure. */
import { parseDuration } from '../../../settings/duration.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import type { Renewal } from '../declaration/external.ts';
import { rotationRequest } from './rotation.ts';

/** From its issue to its end, in RFC 3339, by the clock of the API. */
export interface Term {
  from: string;
  until: string;
}

const RENEW_BEFORE_MS = 30 * 24 * 3_600_000;
/** At most this part of the term, so that a new value is not due immediately. */
const LARGEST_PART = 1 / 3;

/** When the value is replaced: `renewBefore` ahead of its end, but not in the first two thirds of its term. */
export function reissueTime({ from, until }: Term, renewBefore: string | undefined): Date {
  const [start, end] = [Date.parse(from), Date.parse(until)];
  const wanted = renewBefore === undefined ? RENEW_BEFORE_MS : parseDuration(renewBefore);
  return new Date(end - Math.min(wanted, Math.max(0, end - start) * LARGEST_PART));
}

/**
 * Whether it must be replaced now, by request or since it ends soon, and otherwise when.
 * @param term.at when it is due; undefined if never
 * @param now by the clock of the API
 */
export function decideReissue(
  object: KubeObject,
  what: string,
  { at, until }: { at: Date | undefined; until: string },
  now: Date,
): { due?: Renewal; at?: Date } {
  const request = rotationRequest(object);
  if (request !== undefined) {
    const message = `Another ${what} was requested (${request})`;
    return { due: { cause: 'requested', overlapMs: 0, message } };
  }
  if (!at) return {};
  if (at > now) return { at };
  const message = `The ${what} ends at ${until}; issuing another`;
  return { due: { cause: 'expiring', overlapMs: 0, message } };
}
