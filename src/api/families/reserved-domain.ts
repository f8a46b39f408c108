/** Reserved domains: their targets, certificate or policy, endpoint configurations, and the two ways to detach. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { endpointConfiguration } from '../../resources/endpoint-configuration.ts';
import { isCovered, notCovered } from '../../resources/formats/covered-names.ts';
import { certificatePolicy, NEVER_STARTED, NOT_STARTED, reservedDomain } from '../../resources/reserved-domain.ts';
import { tlsCertificate } from '../../resources/tls-certificate.ts';
import { belongingTo, idParameter } from '../crud/family.ts';
import type { WriteContext } from '../crud/hooks.ts';
import { mount } from '../crud/mount.ts';
import { update } from '../crud/operations.ts';
import { invalidByRule, invalidRequest } from '../errors/errors.ts';
import { type Operation, operation } from '../http/operation.ts';
import type { Platform } from '../http/platform.ts';
import { ofThisAccount } from '../store/account-scope.ts';
import type { Executor } from '../store/database.ts';
import type { Row } from '../store/repository.ts';
import { coverEdges, refuseOverlap } from './hostports.ts';
import { cnameTargets, reservedByService } from './service-domains.ts';

/** The column of the key that an order for a certificate is made with. */
export const JOB_KEY = 'certificate_job_private_key';
/** The keys of accounts at certificate authorities. */
export const ACCOUNT_KEYS = { table: 'acme_accounts', column: 'private_key' } as const;

export const reservedDomains = mount(reservedDomain, {
  aboutCreate:
    'Fails with 409 if the domain is already reserved, or if a domain of another account covers it or is covered by it.',
  sealed: [JOB_KEY],
  isVolatile: (row) => row.certificate_management_policy !== null,
  aboutDelete: 'Fails with 409 while an edge relies on the domain for one of its hostports.',
  derive(after, before, { platform }) {
    refuseBothCertificates(after, before);
    return {
      ...(before ? {} : targetsOf(platform, after)),
      certificate_management_status: statusOf(platform, after, before),
    };
  },
  async beforeCreate(context, { domain, certificate }) {
    await refuseOverlap(context, domain);
    await requireNames(context, domain, certificate?.id);
  },
  afterCreate: coverEdges,
  async beforeUpdate(context, before, after) {
    const isSame = isDeepStrictEqual(after.certificate_management_policy, before.certificate_management_policy);
    // Without its certificate, a domain with a policy needs another one.
    if (!isSame || after.certificate?.id !== before.certificate?.id) await resetJob(context.tx, before.id);
    // Others were accepted earlier, or issued by the service.
    if (after.certificate?.id !== before.certificate?.id)
      await requireNames(context, after.domain, after.certificate?.id);
    for (const scheme of ['http', 'https'] as const) {
      const id = after[`${scheme}_endpoint_configuration`]?.id;
      if (id !== before[`${scheme}_endpoint_configuration`]?.id) await requireType(context, scheme, id);
    }
  },
});
reservedDomains.add(detach('certificate', 'certificate_id'));
reservedDomains.add(detach('certificate_management_policy', 'certificate_management_policy'));

/**
 * An uploaded certificate and automatic certificates exclude each other. Checks only what the request sets, since a
 * domain with a policy also has a certificate once one has been issued.
 */
function refuseBothCertificates(after: Row, before: Row | undefined): void {
  const both = after.certificate_id !== null && after.certificate_management_policy !== null;
  if (!both) return;
  const attaches = after.certificate_id !== (before?.certificate_id ?? null);
  const manages = (before?.certificate_management_policy ?? null) === null;
  const problems = {
    ...(attaches
      ? { '/certificate_id': 'cannot be combined with a certificate_management_policy; detach that or set it to null' }
      : {}),
    ...(manages
      ? { '/certificate_management_policy': 'cannot be combined with a certificate_id; detach that or set it to null' }
      : {}),
  };
  if (Object.keys(problems).length > 0) throw invalidByRule(problems);
}

function targetsOf({ serviceDomains }: Platform, { id, domain }: Row) {
  const problem = reservedByService(String(domain), serviceDomains);
  if (problem) throw invalidByRule({ '/domain': problem });
  return cnameTargets(id, String(domain), serviceDomains);
}

function statusOf({ acmeAuthority, issuesCertificates }: Platform, after: Row, before: Row | undefined) {
  const policy = certificatePolicy.nullable().parse(after.certificate_management_policy);
  if (policy === null) return null;
  if (before && isDeepStrictEqual(before.certificate_management_policy, policy)) {
    return before.certificate_management_status;
  }
  if (policy.authority !== acmeAuthority) {
    const problem = `must be "${acmeAuthority}", the only authority available`;
    throw invalidByRule({ '/certificate_management_policy/authority': problem });
  }
  return issuesCertificates ? NOT_STARTED : NEVER_STARTED;
}

const named = z.object({ subject_alternative_names: tlsCertificate.fields.subject_alternative_names.view });

/** Names alone: one that has expired may be renewed, and one that begins later is put in place in time. */
async function requireNames({ tx }: WriteContext, domain: string, id: string | undefined): Promise<void> {
  if (id === undefined) return;
  const text = `select subject_alternative_names from ${tlsCertificate.table} where id = $1 and ${ofThisAccount()}`;
  const [found] = await tx.query({ name: 'tls_certificates.names', text, values: [id] });
  const { dns_names } = named.parse(found).subject_alternative_names;
  if (isCovered(domain, dns_names)) return;
  throw invalidRequest(
    { '/certificate_id': `the certificate ${id} ${notCovered(domain, dns_names)}` },
    { '/certificate_id': 'is not for the domain' },
  );
}

async function requireType({ tx }: WriteContext, scheme: 'http' | 'https', id: string | undefined): Promise<void> {
  if (id === undefined) return;
  const text = `select type from ${endpointConfiguration.table} where id = $1 and ${ofThisAccount()}`;
  const [found] = await tx.query({ name: 'endpoint_configurations.type', text, values: [id] });
  if (found?.type === scheme) return;
  const at = `/${scheme}_endpoint_configuration_id`;
  const rule = `must be of type ${scheme}`;
  throw invalidRequest({ [at]: `${rule}; ${id} is of type ${found?.type}` }, { [at]: rule });
}

/** `DELETE /reserved_domains/{id}/<what>` */
function detach(what: string, field: string): Operation {
  const { path } = reservedDomain;
  const label = what.replaceAll('_', ' ');
  return operation({
    method: 'DELETE',
    path: `${path}/{id}/${what}`,
    operationId: what === 'certificate' ? 'detachReservedDomainCertificate' : 'detachReservedDomainCertificatePolicy',
    summary: `Detach the ${label} of a reserved domain`,
    description: `The same as setting \`${field}\` to null. It is no error if there is none.`,
    ...belongingTo(reservedDomain),
    params: { id: idParameter(reservedDomain) },
    manages: 'optionally',
    success: { status: 204, description: `The domain has no ${label}.` },
    errors: ['PRECONDITION_FAILED'],
    async handle(call, api) {
      await update(api, reservedDomains, { ...call, body: { [field]: null } });
      return {};
    },
  });
}

/** Forgets what the job of a domain had begun: its policy is another one from now on. */
async function resetJob(tx: Executor, id: string): Promise<void> {
  const text = `
    update ${reservedDomain.table} set certificate_job_due_at = null, certificate_job_refusals = 0, certificate_job_failures = 0,
      certificate_job_order_at = null, certificate_job_order_url = null, ${JOB_KEY} = null, certificate_renewal = null
     where id = $1`;
  await tx.query({ name: 'certificate_jobs.reset', text, values: [id] });
  await forgetChallenges(tx, id);
}

/** Deletes what answered the challenges of an order that is over. */
export async function forgetChallenges(db: Executor, id: string): Promise<void> {
  const text = 'delete from acme_challenges where domain_id = $1';
  await db.query({ name: 'acme_challenges.forget', text, values: [id] });
}
