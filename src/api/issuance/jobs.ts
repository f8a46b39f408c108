/** The job of each domain with a policy: its state, in the row of the domain, and the statements that read and write it. */
import { z } from 'zod';
import { certificatePolicy, certificateStatus, NOT_STARTED, reservedDomain } from '../../resources/reserved-domain.ts';
import { JOB_KEY } from '../families/reserved-domain.ts';
import { heldBy, type Lease } from '../leases/leases.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Executor } from '../store/database.ts';
import type { Renewal } from './schedule.ts';

const { table } = reservedDomain;
const PREFIX = 'certificate ';

export const leaseOf = (domainId: string) => PREFIX + domainId;
export const domainOf = ({ name }: Lease) => name.slice(PREFIX.length);

export type Status = z.output<typeof certificateStatus>;

/** What a job remembers between two steps. */
export interface Progress {
  /** When to take the next step. */
  dueAt: Date;
  /** Failed validations in a row, and failures of other kinds since the last of them. */
  refusals: number;
  failures: number;
  /** From when on an order may be placed; null: not asked for yet. */
  orderAt: Date | null;
  orderUrl: string | null;
  /** When an order was last placed for the domain. */
  orderedAt: Date | null;
  /** The key that the order's certificate is for: PKCS #8 in PEM. */
  privateKey: string | null;
  renewal: Renewal | null;
  status: Status;
}

export interface Job extends Omit<Progress, 'dueAt'> {
  readonly domainId: string;
  readonly domain: string;
  readonly account: string;
  readonly policy: z.output<typeof certificatePolicy>;
  readonly certificateId: string | null;
  readonly cnameTarget: string | null;
  /** When the last certificate of the domain was issued. */
  readonly issuedAt: Date | null;
}

const instant = z.string().transform((text) => new Date(text));
const renewalColumn = z.object({
  certificateId: z.string(),
  window: z.object({ start: instant, end: instant }).nullable(),
  pollAt: instant,
});

const row = z.object({
  id: z.string(),
  domain: z.string(),
  account_id: z.string(),
  certificate_management_policy: certificatePolicy,
  certificate_management_status: certificateStatus.nullable(),
  certificate_id: z.string().nullable(),
  cname_target: z.string().nullable(),
  certificate_job_refusals: z.number(),
  certificate_job_failures: z.number(),
  certificate_ordered_at: instant.nullable(),
  certificate_job_order_at: instant.nullable(),
  certificate_job_order_url: z.string().nullable(),
  certificate_job_private_key: z.string().nullable(),
  certificate_issued_at: instant.nullable(),
  certificate_renewal: renewalColumn.nullable(),
});

/** The domains whose jobs are due and that nobody works on, the longest due first. */
export async function dueDomains(db: Executor, now: Date, limit: number): Promise<string[]> {
  const text = `
    select id from ${table} d
     where certificate_management_policy is not null and coalesce(certificate_job_due_at, '-infinity') <= $1
       and not exists (select 1 from leases where name = '${PREFIX}' || d.id and until > clock_timestamp())
     order by coalesce(certificate_job_due_at, '-infinity') limit $2`;
  return (await db.query({ name: 'certificate_jobs.due', text, values: [now, limit] })).map(({ id }) => String(id));
}

/** Undefined if the domain or its policy is gone, or if somebody has worked on it since it was found to be due. */
export async function readJob(db: Executor, secrets: Secrets, domainId: string, now: Date): Promise<Job | undefined> {
  const columns = Object.keys(row.shape).join(', ');
  const text = `
    select ${columns} from ${table}
     where id = $1 and certificate_management_policy is not null and coalesce(certificate_job_due_at, '-infinity') <= $2`;
  const [found] = await db.query({ name: 'certificate_jobs.read', text, values: [domainId, now] });
  if (!found) return undefined;
  const read = row.parse(found);
  const sealed = read[JOB_KEY];
  return {
    domainId: read.id,
    domain: read.domain,
    account: read.account_id,
    policy: read.certificate_management_policy,
    certificateId: read.certificate_id,
    cnameTarget: read.cname_target,
    refusals: read.certificate_job_refusals,
    failures: read.certificate_job_failures,
    orderedAt: read.certificate_ordered_at,
    orderAt: read.certificate_job_order_at,
    orderUrl: read.certificate_job_order_url,
    privateKey: sealed === null ? null : secrets.open(sealed, locationOf(domainId)),
    issuedAt: read.certificate_issued_at,
    renewal: read.certificate_renewal,
    status: read.certificate_management_status ?? NOT_STARTED,
  };
}

const locationOf = (id: string) => ({ table, id, field: JOB_KEY });

/** The assignments that record progress, with their values from parameter `$first` on. */
export function assignments(secrets: Secrets, { domainId }: Pick<Job, 'domainId'>, progress: Progress, first: number) {
  const { dueAt, refusals, failures, orderAt, orderUrl, orderedAt, privateKey, renewal, status } = progress;
  const sealed = privateKey === null ? null : secrets.seal(privateKey, locationOf(domainId));
  const columns = {
    certificate_job_due_at: dueAt,
    certificate_job_refusals: refusals,
    certificate_job_failures: failures,
    certificate_ordered_at: orderedAt,
    certificate_job_order_at: orderAt,
    certificate_job_order_url: orderUrl,
    [JOB_KEY]: sealed,
    certificate_renewal: renewal === null ? null : JSON.stringify(renewal),
    certificate_management_status: JSON.stringify(status),
  };
  const names = Object.keys(columns);
  return { text: names.map((name, index) => `${name} = $${first + index}`).join(', '), values: Object.values(columns) };
}

/**
 * Records progress. Returns whether it did: not if another process has taken over, or if the user has changed the policy
 * or the certificate.
 */
export async function saveProgress(
  db: Executor,
  secrets: Secrets,
  { name, fence }: Lease,
  job: Job,
  progress: Progress,
): Promise<boolean> {
  const set = assignments(secrets, job, progress, 6);
  const text = `
    with held as (${heldBy(1)})
    update ${table} set ${set.text} from held
     where id = $3 and certificate_management_policy = $4::jsonb and certificate_id is not distinct from $5 returning id`;
  const values = [name, fence, job.domainId, JSON.stringify(job.policy), job.certificateId, ...set.values];
  return (await db.query({ name: 'certificate_jobs.save', text, values })).length > 0;
}
