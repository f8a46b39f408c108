/** `ReservedDomain`: a host name, its certificate, and the DNS records that it needs. */
import { z } from 'zod';
import type { View } from '../../resources/definition/resource.ts';
import { reservedDomain } from '../../resources/reserved-domain.ts';
import { CONDITION, EVENT_REASON, REASON } from '../contract/reasons.ts';
import { findCondition } from '../kube/conditions.ts';
import type { Finding } from '../managed/declaration/external.ts';
import { type DnsRecord, EXPIRY_STATUS, type News, type WrittenStatus } from '../managed/declaration/kind.ts';
import { endOfChain } from './certificate-remarks.ts';
import { WIDE } from './columns.ts';
import {
  certificateChangesAt,
  certificateFinding,
  type DomainWithCertificate,
  withCertificate,
} from './domain-certificate.ts';
import { plainKind } from './plain-kind.ts';

type Domain = View<typeof reservedDomain>;

/** The shortest and the longest pause between two polls of a certificate job. */
const JOB_POLL_MS = { first: 3_000, last: 600_000 };
/** A job is polled again after this part of its age. */
const OF_AGE = 1 / 4;

const isAutomatic = z.object({ certificateManagementPolicy: z.object({}) });

const RECORDS = 'The CNAME records that the domain needs.';

const spec = {
  dns: z
    .object({
      publish: z.boolean().default(false).meta({
        description:
          'Whether to write the DNS records that the domain needs to a DNSEndpoint object, for ExternalDNS. Default false.',
      }),
    })
    .optional()
    .meta({ description: 'How the DNS records of the domain are managed.' }),
};

export const reservedDomainKind = plainKind(reservedDomain, {
  kind: 'ReservedDomain',
  shortNames: ['rdom'],
  calls: (client) => client.reservedDomains,
  // A domain with a policy gets its certificates from it.
  chosenByService: (domain) => (domain.certificate_management_policy ? ['certificateRef'] : []),
  setByService: (declared, domain: Domain) =>
    isAutomatic.safeParse(declared).success && domain.certificate_management_policy ? ['certificate_id'] : [],
  rules: [
    {
      rule: '!(has(self.certificateRef) && has(self.certificateManagementPolicy))',
      message: 'certificateRef cannot be combined with certificateManagementPolicy',
      fieldPath: '.certificateRef',
    },
  ],
  spec,
  dnsRecords: ({ dns }, domain: Domain) => (dns?.publish ? recordsOf(domain) : undefined),
  status: {
    ...EXPIRY_STATUS,
    dnsRecords: z
      .array(
        z.object({
          name: z.string().meta({ description: 'Name of the DNS record.' }),
          type: z.string().meta({ description: 'Type of the record, always CNAME.' }),
          target: z.string().meta({ description: 'Target of the DNS record.' }),
        }),
      )
      .optional()
      .meta({ description: RECORDS }),
  },
  describe: (_, domain: DomainWithCertificate) => ({
    dnsRecords: recordsOf(domain),
    expiresAt: domain.attached && endOfChain(domain.attached),
  }),
  conditions: (_, domain: DomainWithCertificate, now) => conditionsOf(domain, now),
  news: certificateNews,
  refreshAt(domain, now) {
    const times = [jobRefreshAt(domain, now) ?? [], certificateChangesAt(domain, now)].flat();
    return times.toSorted((a, b) => a.getTime() - b.getTime())[0];
  },
  external: withCertificate,
  columns: [
    'domain',
    {
      name: 'CNAME',
      type: 'string',
      jsonPath: '.status.cnameTarget',
      description: 'Target of the CNAME record that the domain needs.',
    },
    {
      name: 'Certificate',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="CertificateReady")].reason',
      description: 'Whether the domain has a certificate.',
    },
    {
      name: 'DNS',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="DNSConfigured")].reason',
      description: 'Whether the DNS records exist.',
      ...WIDE,
    },
    {
      name: 'ACME CNAME',
      type: 'string',
      jsonPath: '.status.acmeChallengeCnameTarget',
      description: 'Target of the CNAME record that _acme-challenge of the domain needs.',
      ...WIDE,
    },
  ],
});

/** The records that must be set at the DNS provider of the domain. */
export function recordsOf(domain: Domain): DnsRecord[] {
  const { domain: name, cname_target: target, acme_challenge_cname_target: challenge } = domain;
  const bare = name.replace(/^\*\./, '');
  return [
    ...(target === null ? [] : [{ name, type: 'CNAME' as const, target }]),
    ...(challenge === null ? [] : [{ name: `_acme-challenge.${bare}`, type: 'CNAME' as const, target: challenge }]),
  ];
}

/** When to poll the job again: at its next retry if it has one, else ever less often as it grows older. */
function jobRefreshAt({ created_at, certificate_management_status: status }: Domain, now: Date): Date | undefined {
  const job = status?.provisioning_job;
  if (!job) return undefined;
  const times = [created_at, job.started_at, job.retries_at].flatMap((time) => (time === null ? [] : Date.parse(time)));
  const [retry] = times.filter((time) => time > now.getTime());
  const last = Math.max(...times.filter((time) => time <= now.getTime()));
  const wait = retry === undefined ? (now.getTime() - last) * OF_AGE : retry - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(wait, JOB_POLL_MS.first), JOB_POLL_MS.last));
}

/** The state of the certificate, and what it implies about the DNS records. */
export function conditionsOf(
  domain: DomainWithCertificate,
  now: Date,
): { CertificateReady: Finding; DNSConfigured: Finding } {
  const { certificate, certificate_management_status: status, cname_target: target } = domain;
  const job = status?.provisioning_job;
  const issued = certificate !== null;
  const unknown: Finding = {
    status: 'Unknown',
    reason: REASON.notChecked,
    message: 'The service checks the DNS records only when it issues a certificate',
  };
  const certificateReady = (): Finding => {
    if (issued) {
      const found = certificateFinding(domain, now);
      return job ? { ...found, message: `${found.message}; renewal: ${job.msg}` } : found;
    }
    if (!status) return { status: 'False', reason: REASON.notRequested, message: 'The domain has no certificate' };
    const reason =
      job?.error_code === 'DNS_ERROR' ? REASON.dnsError : job?.error_code ? REASON.internalError : REASON.pending;
    return { status: 'False', reason, message: job?.msg ?? 'waiting to be started' };
  };
  const dnsConfigured = (): Finding => {
    if (target === null) {
      return { status: 'True', reason: REASON.notNeeded, message: 'The domain is below a domain of the service' };
    }
    if (job?.error_code === 'DNS_ERROR') return { status: 'False', reason: REASON.dnsError, message: job.msg };
    if (status && issued)
      return { status: 'True', reason: REASON.checked, message: 'The service has found the records' };
    return unknown;
  };
  return { CertificateReady: certificateReady(), DNSConfigured: dnsConfigured() };
}

/** What has become of the automatic certificate since the status was written. */
export function certificateNews(domain: DomainWithCertificate, before: WrittenStatus): News[] {
  const { attached, certificate_management_status: status } = domain;
  if (!status) return [];
  const job = status.provisioning_job;
  const said = findCondition(before.conditions ?? [], CONDITION.certificateReady)?.message ?? '';
  const isFailing = job?.error_code && !said.includes(job.msg);
  const failure: News[] = isFailing
    ? [{ type: 'Warning', reason: EVENT_REASON.certificateFailed, message: job.msg }]
    : [];
  const end = attached && endOfChain(attached);
  if (!end || end === before.expiresAt) return failure;
  const isFirst = before.expiresAt === undefined;
  const reason = isFirst ? EVENT_REASON.certificateIssued : EVENT_REASON.certificateRenewed;
  return [{ type: 'Normal', reason, message: `The certificate ${attached.id} is in use until ${end}` }, ...failure];
}
