/** `ReservedDomain`: a host name, its certificate, and the DNS records that it needs. */
import { z } from 'zod';
import type { View } from '../../resources/definition/resource.ts';
import { reservedDomain } from '../../resources/reserved-domain.ts';
import { REASON } from '../contract/reasons.ts';
import type { DnsRecord } from '../managed/dns-endpoint.ts';
import type { Finding } from '../managed/external.ts';
import { WIDE } from './columns.ts';
import { plainKind } from './plain-kind.ts';

type Domain = View<typeof reservedDomain>;

/** How often the job of a certificate is polled, since no resync looks at it: at first, and at most after a while. */
const JOB_POLL_MS = { first: 10_000, last: 600_000 };
/** The older a job is, the longer the wait: this part of its age. */
const OF_AGE = 1 / 4;

const isAutomatic = z.object({ certificateManagementPolicy: z.object({}) });

const RECORDS = 'The CNAME records that the domain needs.';

const spec = {
  dns: z
    .object({
      publish: z.boolean().default(false).meta({
        description:
          'Whether to write the records that the domain needs to a DNSEndpoint of its name, which ExternalDNS reads.',
      }),
    })
    .optional()
    .meta({ description: 'What to do about the DNS records.' }),
};

export const reservedDomainKind = plainKind(reservedDomain, {
  kind: 'ReservedDomain',
  shortNames: ['rdom'],
  calls: (client) => client.reservedDomains,
  about: {
    certificate_id: 'The certificate that it is served with.',
    certificate_management_policy: 'Automatic certificates: who issues them, and for which type of key.',
    cname_target: 'Target of the CNAME record that the domain needs.',
  },
  // A policy brings its own certificates.
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
    dnsRecords: z
      .array(
        z.object({
          name: z.string().meta({ description: 'Name of the record.' }),
          type: z.string().meta({ description: 'CNAME.' }),
          target: z.string().meta({ description: 'Value of the record.' }),
        }),
      )
      .optional()
      .meta({ description: RECORDS }),
  },
  describe: (_, domain: Domain) => ({ dnsRecords: recordsOf(domain) }),
  conditions: (_, domain: Domain) => conditionsOf(domain),
  refreshAt: jobRefreshAt,
  columns: [
    'domain',
    { name: 'CNAME', type: 'string', jsonPath: '.status.cnameTarget', description: 'Where the domain must point.' },
    {
      name: 'Certificate',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="CertificateReady")].reason',
      description: 'Whether there is a certificate.',
    },
    {
      name: 'DNS',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="DNSConfigured")].reason',
      description: 'Whether the records are there.',
      ...WIDE,
    },
    {
      name: 'ACME CNAME',
      type: 'string',
      jsonPath: '.status.acmeChallengeCnameTarget',
      description: 'Where _acme-challenge of the domain must point.',
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

/** Depends on the job's own times, so that a job that never starts is not polled every few seconds. */
function jobRefreshAt({ created_at, certificate_management_status: status }: Domain, now: Date): Date | undefined {
  const job = status?.provisioning_job;
  if (!job) return undefined;
  const times = [created_at, job.started_at, job.retries_at].flatMap((time) => (time === null ? [] : Date.parse(time)));
  const [retry] = times.filter((time) => time > now.getTime());
  const last = Math.max(...times.filter((time) => time <= now.getTime()));
  const wait = retry === undefined ? (now.getTime() - last) * OF_AGE : retry - now.getTime();
  return new Date(now.getTime() + Math.min(Math.max(wait, JOB_POLL_MS.first), JOB_POLL_MS.last));
}

/** What the service says about the certificate, and what follows about the DNS. */
export function conditionsOf(domain: Domain): { CertificateReady: Finding; DNSConfigured: Finding } {
  const { certificate, certificate_management_status: status, cname_target: target } = domain;
  const job = status?.provisioning_job;
  const issued = certificate !== null || (status !== null && status.renews_at !== null);
  const unknown: Finding = {
    status: 'Unknown',
    reason: REASON.notChecked,
    message: 'The service checks the DNS records only when it issues a certificate',
  };
  const certificateReady = (): Finding => {
    if (issued)
      return { status: 'True', reason: REASON.issued, message: job ? `In use; renewal: ${job.msg}` : 'In use' };
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
