/** Works on the certificate jobs that are due. Every process may run it; when one dies, the others find its jobs due. */
import { setTimeout as delay } from 'node:timers/promises';
import { forgetChallenges } from '../families/reserved-domain.ts';
import type { Api } from '../http/operation.ts';
import { createLeaseHolder, type HeldLease } from '../leases/lease-holder.ts';
import { databaseTime } from '../store/database-time.ts';
import { domainOf, dueDomains, type Job, leaseOf, type Progress, readJob, saveProgress } from './jobs.ts';
import { JobFailed } from './reasons.ts';
import { deleteUnused, recordFailure, recordIssued } from './record.ts';
import { afterIssue } from './renewal.ts';
import { failure, type StepContext, takeStep } from './step.ts';

export interface RunnerOptions {
  api: Api;
  steps: StepContext;
  /** Names this process in the table of leases. */
  holder: string;
  onError: (error: unknown, work: string, about?: Record<string, unknown>) => void;
  /** Is told of certificates and failed attempts, once they are recorded. */
  observe?: (result: 'issued' | 'failed', domain: string, error?: string) => void;
}

/** Also the time after which another process takes over from one that was killed. */
const LEASE_MS = 10_000;
const POLL_MS = 1_000;
/** Jobs at once. */
const PLACES = 16;
/** Until the next step, for which a process keeps a job. */
const HELD_MS = 5_000;
const CLEAN_EVERY_MS = 600_000;

export interface Runner {
  /** Lets the steps under way end, then releases all leases. */
  stop(): Promise<void>;
}

export function startRunner({ api, steps, holder, onError, observe = () => undefined }: RunnerOptions): Runner {
  const { db, secrets } = api;
  const leases = createLeaseHolder(db, { holder, ms: LEASE_MS, onError: (error) => onError(error, 'renew leases') });
  const stopping = new AbortController();
  const working = new Map<string, Promise<void>>();

  /** Jobs are due by the time that all processes share. */
  const now = async () => new Date(await databaseTime(db));
  const sleep = (ms: number) => delay(ms, undefined, { signal: stopping.signal }).catch(() => undefined);

  /** Takes the steps of one job until the next is not due soon. */
  async function work(held: HeldLease): Promise<void> {
    const domainId = domainOf(held.lease);
    try {
      while (!held.lost.aborted && !stopping.signal.aborted) {
        const at = await now();
        const job = await readJob(db, secrets, domainId, at);
        const dueAt = job && (await attempt(held, job, at));
        // Short waits are cheaper than another claim.
        if (!dueAt || dueAt.getTime() - at.getTime() > HELD_MS) return;
        await sleep(dueAt.getTime() - at.getTime());
      }
    } catch (error) {
      onError(error, 'work on certificates', { domain: domainId });
    } finally {
      working.delete(domainId);
      await held.release().catch((error: unknown) => onError(error, 'release a lease'));
    }
  }

  /** Takes one step and records it. Returns when the next one is due, or undefined if another process has taken over. */
  async function attempt({ lease }: HeldLease, job: Job, at: Date): Promise<Date | undefined> {
    const failed = async (progress: Progress) => {
      const isNews = !isSameError(job, progress.status);
      const isRecorded = await (isNews
        ? recordFailure(api, lease, job, progress)
        : saveProgress(db, secrets, lease, job, progress));
      if (isRecorded) observe('failed', job.domain, progress.status.provisioning_job?.msg);
      return isRecorded ? ended(progress) : undefined;
    };
    /** Returns when the next step is due. What answered the challenges of an order goes with it. */
    const ended = async ({ dueAt, orderUrl }: Progress) => {
      if (job.orderUrl !== null && orderUrl === null) await forgetChallenges(db, job.domainId);
      return dueAt;
    };
    try {
      const step = await takeStep(steps, job, at);
      if (step.kind === 'progress')
        return (await saveProgress(db, secrets, lease, job, step.progress)) ? step.progress.dueAt : undefined;
      if (step.kind === 'failed') return await failed(step.progress);
      const issuedAt = await now();
      const progress = afterIssue(step.chain, issuedAt, job.orderedAt);
      const isRecorded = await recordIssued(api, lease, job, { ...step, now: issuedAt, progress });
      if (isRecorded) observe('issued', job.domain);
      return isRecorded ? ended(progress) : undefined;
    } catch (error) {
      onError(error, 'work on certificates', { domain: job.domain });
      // An order that cannot be gone on with is given up in the end.
      const isOrderOver = job.failures >= 2;
      const why = 'an internal error; see the log of the service';
      return failed(failure(job, new JobFailed('INTERNAL_ERROR', why, { isOrderOver }), at));
    }
  }

  async function round(): Promise<void> {
    const free = PLACES - working.size;
    if (free <= 0) return;
    const due = (await dueDomains(db, await now(), free)).filter((id) => !working.has(id));
    for (const held of await leases.claim(due.map(leaseOf))) working.set(domainOf(held.lease), work(held));
  }

  async function run(): Promise<void> {
    let cleanedAt = Number.NEGATIVE_INFINITY;
    while (!stopping.signal.aborted) {
      await round().catch((error: unknown) => onError(error, 'find certificates to issue'));
      if (performance.now() - cleanedAt > CLEAN_EVERY_MS) {
        cleanedAt = performance.now();
        await deleteUnused(api, stopping.signal).catch((error: unknown) =>
          onError(error, 'delete unused certificates'),
        );
      }
      await sleep(POLL_MS);
    }
  }
  const running = run();

  return {
    async stop() {
      stopping.abort();
      await running;
      await Promise.all(working.values());
      await leases.stop();
    },
  };
}

function isSameError(
  { status: { provisioning_job: before } }: Job,
  { provisioning_job: after }: Job['status'],
): boolean {
  return before?.error_code === after?.error_code && before?.msg === after?.msg;
}
