/** When a certificate in place is renewed, by what the authority says and by its lifetime. */
import { X509Certificate } from 'node:crypto';
import { certificateId } from '../../acme/certificates.ts';
import { AcmeError } from '../../acme/errors.ts';
import type { Authority } from './authority.ts';
import type { Job, Progress } from './jobs.ts';
import { leastInterval, nextPoll, type Renewal, renewalTime, type Validity } from './schedule.ts';

/** Of the first certificate of a chain in PEM. */
export function validityOf(chain: string): Validity {
  const { validFromDate, validToDate } = new X509Certificate(chain);
  return { notBefore: validFromDate, notAfter: validToDate };
}

export interface PresentCertificate extends Validity {
  pem: string;
  issuedAt: Date;
}

/** Asks the authority about a certificate in place, and returns when to renew it. */
export async function planRenewal(authority: Authority, job: Job, present: PresentCertificate, now: Date) {
  const renewal = await askRenewal(authority, job, present, now);
  const known = job.status.renews_at;
  const isKept = known !== null && isSame(renewal, job.renewal);
  return { renewal, renewsAt: isKept ? new Date(known) : renewalTime(present, renewal?.window ?? null) };
}

/** What is stored with a new certificate. Due at once, to ask the authority when to renew it. */
export function afterIssue(chain: string, issuedAt: Date, orderedAt: Date | null): Progress {
  return { ...atRest(renewalTime({ ...validityOf(chain), issuedAt }, null), null, orderedAt), dueAt: issuedAt };
}

/** What is stored while there is nothing to do but to renew in time. */
export function atRest(renewsAt: Date, renewal: Renewal | null, orderedAt: Date | null): Progress {
  return {
    dueAt: renewal && renewal.pollAt < renewsAt ? renewal.pollAt : renewsAt,
    ...{ refusals: 0, failures: 0, orderAt: null, orderUrl: null, orderedAt, privateKey: null },
    renewal,
    status: { renews_at: renewsAt.toISOString(), provisioning_job: null },
  };
}

/** What the authority says about renewing a certificate, asked for no more often than it wants. Null: nothing. */
async function askRenewal({ client }: Authority, job: Job, { pem, issuedAt }: PresentCertificate, now: Date) {
  const id = certificateId(pem);
  if (id === undefined) return null;
  const known = job.renewal?.certificateId === id ? job.renewal : null;
  if (known && known.pollAt > now) return known;
  // Without an answer, what is known holds on.
  const silent: Renewal = { certificateId: id, window: known?.window ?? null, pollAt: nextPoll(now, null) };
  try {
    const window = await client.renewalWindow(id);
    // One that has begun before the certificate was issued is still that of the certificate before (cert-manager #8993).
    if (!window || window.start < issuedAt) return silent;
    const { start, end, retryAfterMs } = window;
    return { certificateId: id, window: { start, end }, pollAt: nextPoll(now, retryAfterMs) };
  } catch (error) {
    if (error instanceof AcmeError) return silent;
    throw error;
  }
}

/** Whether the instant of the renewal, once chosen, still holds. */
function isSame(one: Renewal | null, other: Renewal | null): boolean {
  const key = (renewal: Renewal | null) =>
    JSON.stringify([renewal?.certificateId, renewal?.window?.start, renewal?.window?.end]);
  return key(one) === key(other);
}

/** When the next certificate may be ordered at the earliest, whatever asks for it. */
export const earliestOrder = (present: PresentCertificate) =>
  new Date(present.issuedAt.getTime() + leastInterval(present));
