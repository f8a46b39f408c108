/**
 * One step of a job, from what is stored to what is stored next. Each step makes few requests to the authority, none of which
 * does harm when it is repeated: any process may take it, or take it again.
 */
import { certificateRequest, generateCertificateKey } from '../../acme/certificates.ts';
import type { Order } from '../../acme/client.ts';
import { AcmeError } from '../../acme/errors.ts';
import type { Account } from '../../acme/transport.ts';
import { isCovered, notCovered } from '../../resources/formats/covered-names.ts';
import { readChain } from '../certificates/chain.ts';
import { type Authority, lacksAccount } from './authority.ts';
import type { Job, Progress } from './jobs.ts';
import { JobFailed, reasonOf } from './reasons.ts';
import { atRest, earliestOrder, type PresentCertificate, planRenewal } from './renewal.ts';
import { nextLook, retryAfter } from './schedule.ts';
import type { SelfCheck, WantedRecord } from './self-check.ts';

export interface StepContext {
  authority: Authority;
  /** The kind of certificate, where the authority has several. */
  profile: string | undefined;
  /** Undefined: records are not looked at. */
  selfCheck: SelfCheck | undefined;
  /** The record that the owner of a domain has to make so that challenges can be answered; undefined if none is needed. */
  wantedRecord(job: Job): WantedRecord | undefined;
  /** Whether the service answers challenges over DNS, without which there are no wildcards. */
  answersDns: boolean;
  /** Returns whether the authority has been told to look. */
  storeChallenge(domainId: string, token: string, account: Account): Promise<boolean>;
  noteAnswered(token: string): Promise<void>;
  /** The certificate that the domain is served with, if the service has issued it. */
  present(job: Job): Promise<PresentCertificate | undefined>;
}

export type Step =
  /** What is stored, and when the next step is due. */
  | { kind: 'progress'; progress: Progress }
  | { kind: 'failed'; progress: Progress }
  | { kind: 'issued'; chain: string; privateKey: string };

const SECOND = 1_000;
const ISSUING = 'the authority is issuing the certificate';

/** Takes the next step of a job that is due. @throws what is neither the authority's nor the domain's fault */
export async function takeStep(context: StepContext, job: Job, now: Date): Promise<Step> {
  try {
    if (job.orderUrl !== null) return await advance(context, { ...job, orderUrl: job.orderUrl }, now);
    const present = job.status.provisioning_job === null ? await context.present(job) : undefined;
    if (!present) return await begin(context, job, now);
    const { renewal, renewsAt } = await planRenewal(context.authority, job, present, now);
    if (renewsAt <= now) return await begin(context, { ...job, renewal }, now);
    return { kind: 'progress', progress: atRest(renewsAt, renewal, job.orderedAt) };
  } catch (error) {
    if (lacksAccount(error)) await context.authority.forgetAccount();
    return { kind: 'failed', progress: failure(job, toJobFailed(context, error), now) };
  }
}

/** Places an order. */
async function begin(context: StepContext, job: Job, now: Date): Promise<Step> {
  const { authority, selfCheck, profile } = context;
  const present = await context.present(job);
  const earliest = present && earliestOrder(present);
  if (earliest && earliest > now) {
    const since = present.issuedAt.toISOString();
    return waiting(job, now, earliest, `the last certificate was issued at ${since}; the next is not due yet`);
  }
  const isWildcard = job.domain.startsWith('*.');
  if (isWildcard && !context.answersDns) {
    const why = 'this installation does not answer challenges over DNS, which a wildcard needs (ACME_DNS_NAMESERVERS)';
    throw new JobFailed('INTERNAL_ERROR', why);
  }
  const wanted = context.wantedRecord(job);
  if (wanted) await selfCheck?.(wanted);
  const account = await authority.account();
  const again = new Date((job.orderedAt?.getTime() ?? 0) + BETWEEN_ORDERS_MS);
  if (again > now) return waiting(job, now, again, 'an order was placed a short while ago; the next is not due yet');
  const orderAt = job.orderAt ?? (await authority.reserveOrder(now));
  if (orderAt > now) return waiting({ ...job, orderAt }, now, orderAt, 'waiting for its turn: orders are limited');
  const privateKey = await generateCertificateKey(job.policy.private_key_type);
  try {
    const { url: orderUrl } = await newOrder(context, account, job, profile);
    const ordered = { ...job, orderAt: null, orderUrl, orderedAt: now, privateKey };
    return waiting(ordered, now, now, 'the certificate has been ordered');
  } catch (error) {
    if (!(error instanceof AcmeError) || lacksAccount(error)) throw error;
    // Its place stays reserved.
    return { kind: 'failed', progress: failure({ ...job, orderAt }, toJobFailed(context, error), now) };
  }
}

/** Of one domain, so that nobody can use up the orders of all by changing its policy back and forth. */
const BETWEEN_ORDERS_MS = 600 * SECOND;

/** The authority accepts one replacement of a certificate. If an order was lost, the next one does not name it. */
async function newOrder({ authority }: StepContext, account: Account, job: Job, profile: string | undefined) {
  const wanted = { names: [job.domain], profile };
  const replaces = job.renewal?.certificateId;
  try {
    return await authority.client.newOrder(account, { ...wanted, replaces });
  } catch (error) {
    // Another order has replaced it (RFC 9773, section 5), or the authority does not know it, such as one of another authority.
    const isAboutReplacing =
      error instanceof AcmeError && replaces !== undefined && [400, 404, 409].includes(error.status ?? 0);
    if (!isAboutReplacing || NOT_ABOUT_REPLACING.has(error.type ?? '')) throw error;
    return authority.client.newOrder(account, wanted);
  }
}

/** Refusals of an order that have nothing to do with what it replaces. */
const NOT_ABOUT_REPLACING = new Set([
  'rejectedIdentifier',
  'unsupportedIdentifier',
  'caa',
  'accountDoesNotExist',
  'badNonce',
]);

type OrderedJob = Job & { orderUrl: string };

async function advance(context: StepContext, job: OrderedJob, now: Date): Promise<Step> {
  const { authority } = context;
  const { client } = authority;
  const over = (why: string) => new JobFailed('INTERNAL_ERROR', why, { isOrderOver: true });
  const ageMs = now.getTime() - (job.orderedAt ?? now).getTime();
  if (ageMs > LONGEST_ORDER_MS) throw over('the authority has not finished the order within a day');
  const { newOrder: here } = await client.directory();
  if (new URL(job.orderUrl).host !== new URL(here).host) throw over('the order was placed at another authority');
  const account = await authority.account();
  const order = await client.order(account, job.orderUrl).catch((error: unknown) => {
    throw isGone(error) ? over(`the authority does not know the order any more: ${error.message}`) : error;
  });
  const look = (msg: string) => waiting(job, now, new Date(now.getTime() + nextLook(ageMs, order.retryAfterMs)), msg);
  switch (order.status) {
    case 'pending':
      await answerChallenges(context, account, order, job);
      return look('the authority is validating the domain');
    case 'ready': {
      const { privateKey } = job;
      if (privateKey === null) throw over('the key of the order is lost');
      const finalized = await client.finalize(account, order, await certificateRequest(privateKey, [job.domain]));
      return finalized.status === 'valid' ? waiting(job, now, now, ISSUING) : look(ISSUING);
    }
    case 'valid': {
      const { certificate } = order;
      if (certificate === undefined || job.privateKey === null) throw over('the order has no certificate');
      const chain = await client.download(account, certificate);
      const problem = problemOf(chain, job, now);
      if (problem !== undefined) throw new JobFailed('INTERNAL_ERROR', problem, { tried: true, isOrderOver: true });
      return { kind: 'issued', chain, privateKey: job.privateKey };
    }
    case 'invalid':
      throw (await validationError(context, account, order)) ?? invalidOrder(context, order);
    default:
      return look(ISSUING);
  }
}

/** After that, another order is placed. Authorities keep an order open for up to a week. */
const LONGEST_ORDER_MS = 86_400 * SECOND;

/** Why a chain cannot be used for the domain, if so. */
function problemOf(chain: string, { domain }: Job, now: Date): string | undefined {
  const read = readChain(chain);
  if ('reason' in read) return `the certificate of the authority ${read.reason}`;
  const { dnsNames, notAfter } = read.value.leaf;
  if (!isCovered(domain, dnsNames)) return `the certificate of the authority ${notCovered(domain, dnsNames)}`;
  return new Date(notAfter) > now ? undefined : `the certificate of the authority expired at ${notAfter}`;
}

/** Proxies answer 4xx as well: the order is gone only if the authority says so. */
const isGone = (error: unknown): error is AcmeError =>
  error instanceof AcmeError &&
  (error.status === 404 || (error.status === 403 && error.type === 'unauthorized') || error.type === 'malformed');

async function answerChallenges(context: StepContext, account: Account, order: Order, job: Job): Promise<void> {
  const { client } = context.authority;
  const type = job.domain.startsWith('*.') ? 'dns-01' : 'http-01';
  for (const url of order.authorizations) {
    const { status, challenges } = await client.authorization(account, url);
    if (status !== 'pending') continue;
    const challenge = challenges.find((each) => each.type === type && each.token !== undefined);
    if (challenge?.token === undefined) {
      const offered = challenges.map((each) => each.type).join(', ');
      const why = `the authority offers no ${type} challenge, but ${offered || 'none'}`;
      throw new JobFailed('INTERNAL_ERROR', why, { isOrderOver: true });
    }
    const { token } = challenge;
    // Some authorities validate once more each time they are told, and count each failure.
    if (challenge.status !== 'pending' || (await context.storeChallenge(job.domainId, token, account))) continue;
    await client.answer(account, challenge.url);
    await context.noteAnswered(token);
  }
}

/** Why the authority could not validate the domain, which an order need not say. */
async function validationError(context: StepContext, account: Account, order: Order): Promise<JobFailed | undefined> {
  const { client, directoryUrl } = context.authority;
  for (const url of order.authorizations) {
    const seen = await client.authorization(account, url).catch(withoutAuthorization);
    const problem = seen?.challenges.find(({ error }) => error !== undefined)?.error;
    if (!problem) continue;
    const { type = null, detail = 'no reason given', subproblems = [] } = problem;
    const error = new AcmeError({ type, detail, subproblems, status: null, retryAfterMs: null });
    const { code, message } = reasonOf(error, directoryUrl, 'validation');
    return new JobFailed(code, message, { tried: true, isOrderOver: true });
  }
  return undefined;
}

/** The authorizations of an order that has failed may be gone. */
function withoutAuthorization(error: unknown): undefined {
  if (!(error instanceof AcmeError)) throw error;
}

function invalidOrder({ authority }: StepContext, { error }: Order): JobFailed {
  if (!error)
    return new JobFailed('INTERNAL_ERROR', 'the order failed without a reason', { tried: true, isOrderOver: true });
  const { code, message } = reasonOf(error, authority.directoryUrl, 'validation');
  return new JobFailed(code, message, { tried: true, isOrderOver: true });
}

function toJobFailed({ authority }: StepContext, error: unknown): JobFailed {
  if (error instanceof JobFailed) return error;
  if (!(error instanceof AcmeError)) throw error;
  const { code, message } = reasonOf(error, authority.directoryUrl, 'request');
  const tried = code === 'DNS_ERROR';
  return new JobFailed(code, message, { askedMs: error.retryAfterMs, tried, isOrderOver: lacksAccount(error) });
}

/** A step that has gone well; the next is due at a time. */
function waiting(job: Job, now: Date, dueAt: Date, msg: string): Step {
  const { refusals, failures, orderAt, orderUrl, orderedAt, privateKey, renewal, status } = job;
  const startedAt = status.provisioning_job?.started_at ?? now.toISOString();
  const isLong = dueAt.getTime() - now.getTime() > LONG_MS;
  const provisioningJob = {
    error_code: null,
    msg,
    started_at: startedAt,
    retries_at: isLong ? dueAt.toISOString() : null,
  };
  return {
    kind: 'progress',
    progress: {
      ...{ dueAt, refusals, failures, orderAt, orderUrl, orderedAt, privateKey, renewal },
      status: { renews_at: renewsAt(job), provisioning_job: provisioningJob },
    },
  };
}

/** Longer waits are shown. */
const LONG_MS = 60 * SECOND;

/** What is stored after a failed attempt. */
export function failure(job: Job, { code, message, askedMs, tried, isOrderOver }: JobFailed, now: Date): Progress {
  const { refusals, failures } = tried
    ? { refusals: job.refusals + 1, failures: 0 }
    : { refusals: job.refusals, failures: job.failures + 1 };
  const dueAt = new Date(now.getTime() + retryAfter({ failures: tried ? refusals : failures, tried, askedMs }));
  const { provisioning_job } = job.status;
  return {
    ...{ dueAt, refusals, failures, orderedAt: job.orderedAt, renewal: job.renewal },
    orderAt: isOrderOver ? null : job.orderAt,
    orderUrl: isOrderOver ? null : job.orderUrl,
    privateKey: isOrderOver ? null : job.privateKey,
    status: {
      renews_at: renewsAt(job),
      provisioning_job: {
        error_code: code,
        msg: message,
        started_at: provisioning_job?.started_at ?? now.toISOString(),
        retries_at: dueAt.toISOString(),
      },
    },
  };
}

/** Nothing is renewed unless there is a certificate. */
const renewsAt = ({ certificateId, status }: Job) => (certificateId === null ? null : status.renews_at);
