/** Records what a job has reached, with the events that tell of it. */
import { isDeepStrictEqual } from 'node:util';
import { newId, timeOfId } from '../../resources/definition/id.ts';
import { SERVICE } from '../../resources/event.ts';
import { type CertificateEvent, certificateEventType } from '../../resources/event-subjects.ts';
import { reservedDomain } from '../../resources/reserved-domain.ts';
import { tlsCertificate } from '../../resources/tls-certificate.ts';
import { deletion } from '../crud/family.ts';
import { pointersOf, setReferences } from '../crud/references.ts';
import { reservedDomains } from '../families/reserved-domain.ts';
import { preparedCertificate, tlsCertificates } from '../families/tls-certificate.ts';
import type { Api } from '../http/operation.ts';
import { heldBy, type Lease } from '../leases/leases.ts';
import { WITHOUT_QUOTAS } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';
import { changeEvent, eventCte, eventValues } from '../store/outbox.ts';
import type { Row } from '../store/repository.ts';
import { assignments, type Job, type Progress } from './jobs.ts';

const BY_SERVICE = { caller: { id: SERVICE, keyId: null }, requestId: null };

/** Records a failed attempt. Returns whether the job is still this process's, and its policy the same. */
export const recordFailure = (api: Api, lease: Lease, job: Job, progress: Progress) =>
  withDomain(api, lease, job, (tx, row) => write(api, tx, { job, row, progress, event: 'failed' }));

export interface Issued {
  chain: string;
  /** PKCS #8 in PEM. */
  privateKey: string;
  now: Date;
  /** What is stored from now on. */
  progress: Progress;
}

/**
 * Puts a certificate in place of the present one, in one transaction: the old one stays until then. Returns whether it did:
 * not if another process has taken over, or if the policy has been changed or detached.
 */
export async function recordIssued(api: Api, lease: Lease, job: Job, issued: Issued): Promise<boolean> {
  const id = newId(tlsCertificate.prefix);
  const { chain, privateKey, progress, now } = issued;
  const given = { certificate_pem: chain, private_key_pem: privateKey };
  const { fields, columns } = await preparedCertificate(given, id, api.secrets);
  const created: Row = {
    ...tlsCertificates.initial,
    ...{ description: `Issued for ${job.domain}.`, certificate_pem: chain },
    ...fields,
    ...columns,
    ...{ issued_at: now.toISOString(), id, created_at: timeOfId(id), revision: 1 },
  };
  const payload = tlsCertificates.showShort(created, api.eventBase);
  const event = changeEvent(BY_SERVICE, tlsCertificate.name, { kind: 'created', payload, revision: 1 });
  return withDomain(api, lease, job, async (tx, row) => {
    await tx.query({ name: 'quotas.off', text: WITHOUT_QUOTAS, values: [] });
    await tlsCertificates.rows.insert(tx, created, event);
    const from = { referrer: reservedDomain, referrerId: row.id, field: 'certificate_id' };
    await setReferences(tx, from, pointersOf(reservedDomain.fields, 'certificate_id', id));
    const kind = job.issuedAt === null ? 'issued' : 'renewed';
    await write(api, tx, { job, row: { ...row, certificate_id: id }, progress, event: kind, issuedAt: now });
  });
}

/** Runs a change of a domain while its lease is held. Does nothing if its policy or certificate has changed. */
function withDomain({ db }: Api, { name, fence }: Lease, job: Job, change: (tx: Executor, row: Row) => Promise<void>) {
  return db.within(job.account).transaction(async (tx) => {
    const row = await reservedDomains.rows.lock(tx, job.domainId);
    const [held] = await tx.query({ name: 'certificate_jobs.hold', text: heldBy(1), values: [name, fence] });
    const isSame =
      row?.certificate_id === job.certificateId && isDeepStrictEqual(row.certificate_management_policy, job.policy);
    if (!row || !held || !isSame) return false;
    await change(tx, row);
    return true;
  });
}

interface Written {
  job: Job;
  /** As it is from now on, but for the progress. */
  row: Row;
  progress: Progress;
  event: CertificateEvent;
  issuedAt?: Date;
}

/** The revision stays: it counts what users change. */
async function write(api: Api, tx: Executor, { job, row, progress, event: kind, issuedAt }: Written): Promise<void> {
  const next = { ...row, certificate_management_status: progress.status };
  const change = {
    kind: 'updated',
    payload: reservedDomains.showShort(next, api.eventBase),
    revision: row.revision,
  } as const;
  const event = { ...changeEvent(BY_SERVICE, reservedDomain.name, change), type: certificateEventType(kind) };
  const values = eventValues(event);
  const set = assignments(api.secrets, job, progress, values.length + 4);
  const text = `
    with ${eventCte(4)}
    update ${reservedDomain.table} set certificate_id = $2, certificate_issued_at = coalesce($3, certificate_issued_at), ${set.text}
     where id = $1`;
  await tx.query({
    name: 'certificate_jobs.record',
    text,
    values: [row.id, row.certificate_id, issuedAt ?? null, ...values, ...set.values],
  });
}

const UNUSED = `
  select id, account_id from ${tlsCertificate.table} c
   where issued_at is not null and not exists (select from resource_references where target_id = c.id)`;

/** Deletes certificates that the service has obtained and that nothing refers to any more. */
export async function deleteUnused(
  { db, eventBase }: Pick<Api, 'db' | 'eventBase'>,
  signal: AbortSignal,
): Promise<void> {
  const found = await db.query({ text: `${UNUSED} order by id limit 1000`, values: [] });
  for (const { id, account_id } of found) {
    if (signal.aborted) return;
    await db.within(String(account_id)).transaction(async (tx) => {
      const row = await tlsCertificates.rows.lockToRemove(tx, String(id));
      const [unused] = await tx.query({ text: `${UNUSED} and id = $1`, values: [id] });
      if (!row || !unused) return;
      await tlsCertificates.rows.remove(
        tx,
        row.id,
        deletion({ api: { eventBase }, ...BY_SERVICE }, tlsCertificates, row),
      );
    });
  }
}
