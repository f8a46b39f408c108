/** When certificates are renewed, and when a failed attempt is repeated. Pure: times and chance are parameters. */
import { backoff } from '../../retry/backoff.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Authorities allow few failed authorizations per name: Let's Encrypt five an hour. Of ours, at most four fall into any hour.
 */
const AUTHORIZATION_RETRY = { firstMs: 15 * MINUTE, longestMs: 6 * HOUR };
const RETRY = { firstMs: MINUTE, longestMs: 15 * MINUTE };

/** The longest wait that an authority may ask for; Let's Encrypt counts over seven days. */
const LONGEST_ASKED_MS = 7 * DAY;

/** How often an authority is asked when to renew (RFC 9773, section 4.3.1, lets it ask for longer pauses). */
const POLL_MS = 6 * HOUR;
/** The share of its lifetime after which a certificate is renewed if the authority does not say. */
const RENEWED_AFTER = 2 / 3;
const SPREAD = 0.05;
/** At the latest after this share, whatever the authority says. */
const LATEST = 0.8;

/**
 * Milliseconds until the next attempt.
 * @param failures of the same kind in a row, at least 1
 * @param tried whether the authority has tried to validate the domain
 * @param askedMs how long the authority asks to wait
 */
export function retryAfter(
  { failures, tried, askedMs }: { failures: number; tried: boolean; askedMs: number | null },
  random = Math.random,
): number {
  const own = backoff(failures, tried ? AUTHORIZATION_RETRY : RETRY, random);
  // Never earlier than asked for.
  return Math.max(own, Math.min(askedMs ?? 0, LONGEST_ASKED_MS) * (1 + 0.1 * random()));
}

export interface Validity {
  notBefore: Date;
  notAfter: Date;
}

/** When the authority wants a certificate to be renewed, as it was told for that certificate. */
export interface Renewal {
  /** Names the certificate (RFC 9773); a window holds for no other. */
  certificateId: string;
  window: { start: Date; end: Date } | null;
  /** When the authority may be asked again. */
  pollAt: Date;
}

/**
 * Milliseconds until the next look at an order: as long as the authority asks, within an hour, and longer as the order grows
 * older, so that orders that do not move take no time from others.
 */
export function nextLook(ageMs: number, askedMs: number | null): number {
  return Math.max(Math.min(askedMs ?? 0, HOUR), Math.min(Math.max(ageMs / 4, SECOND), MINUTE));
}

/** Shortest time between two certificates of a domain, whatever the authority says: a day, or a tenth of the lifetime. */
export const leastInterval = ({ notBefore, notAfter }: Validity) =>
  Math.min(DAY, (notAfter.getTime() - notBefore.getTime()) / 10);

/** When to ask the authority again. @param askedMs how long it asks to wait */
export const nextPoll = (now: Date, askedMs: number | null) =>
  new Date(now.getTime() + Math.min(Math.max(askedMs ?? 0, POLL_MS), 4 * POLL_MS));

/**
 * When to renew a certificate: an instant in the window, or after two thirds of its lifetime if there is none. Chosen by
 * chance, so the result has to be kept.
 */
export function renewalTime(
  { issuedAt, ...validity }: Validity & { issuedAt: Date },
  window: { start: Date; end: Date } | null,
  random = Math.random,
): Date {
  const { notBefore, notAfter } = validity;
  const lifetime = notAfter.getTime() - notBefore.getTime();
  const wanted = window
    ? window.start.getTime() + random() * (window.end.getTime() - window.start.getTime())
    : notBefore.getTime() + lifetime * (RENEWED_AFTER - SPREAD * random());
  const latest = notBefore.getTime() + lifetime * LATEST;
  return new Date(Math.max(Math.min(wanted, latest), issuedAt.getTime() + leastInterval(validity)));
}
