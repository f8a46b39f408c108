/** Reserved domains: host names that endpoints may use, and the certificates with which they are served. */
import { z } from 'zod';
import { laterReference, optionalReference } from './definition/reference.ts';
import { derived, described, field, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { endpointConfiguration } from './endpoint-configuration.ts';
import { canonicalDomain } from './formats/domain-name.ts';
import { pattern, text, timestamp } from './formats/text.ts';
import { tlsCertificate } from './tls-certificate.ts';

const domainInput = text()
  .max(1024, 'must be at most 1024 characters')
  .transform((input, context) => {
    const result = canonicalDomain(input);
    if ('domain' in result) return result.domain;
    context.addIssue({ code: 'custom', message: result.reason, input });
    return z.NEVER;
  })
  .meta({
    description: 'A host name, perhaps with `*.` before it; international names in their script or in ASCII.',
    examples: ['app.example.com'],
    ...pattern(/^(?:\*\.)?[^\s:*]+$/),
  });

const shownDomain = z.string().meta({ description: 'In ASCII and lower case.', examples: ['app.example.com'] });

export const region = z.enum(['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa']);
const regionAbout = { description: 'Deprecated; kept and shown, without effect.', deprecated: true };

export const privateKeyType = z.enum(['rsa', 'ecdsa']);

const authorityAbout = {
  description: 'The authority that this installation is set up for.',
  examples: ['letsencrypt'],
};

export const certificatePolicy = z
  .object({ authority: z.string().meta(authorityAbout), private_key_type: privateKeyType })
  .meta({ id: 'ReservedDomainCertPolicy', description: 'Automatic certificates: who issues them, for which key.' });

const certificatePolicyInput = z
  .strictObject({
    authority: text().max(64).meta(authorityAbout),
    private_key_type: privateKeyType.nullish().meta({ description: 'Default `rsa`.' }),
  })
  .meta({ id: 'ReservedDomainCertPolicyInput', description: 'Automatic certificates to ask for.' })
  .transform(({ authority, private_key_type }) => ({ authority, private_key_type: private_key_type ?? 'rsa' }));

export const certificateJob = z
  .object({
    error_code: z
      .enum(['INTERNAL_ERROR', 'DNS_ERROR'])
      .nullable()
      .meta({ description: 'INTERNAL_ERROR passes; DNS_ERROR stays until its cause is corrected. Null: none so far.' }),
    msg: z.string().meta({ examples: ['waiting to be started'] }),
    started_at: timestamp().nullable().meta({ description: 'Null until the job has started.' }),
    retries_at: timestamp().nullable(),
  })
  .meta({ id: 'ReservedDomainCertJob' });

export const certificateStatus = z
  .object({
    renews_at: timestamp().nullable().meta({ description: 'Null until a certificate has been issued.' }),
    provisioning_job: certificateJob.nullable().meta({ description: 'Null when nothing is being issued or renewed.' }),
  })
  .meta({ id: 'ReservedDomainCertStatus' });

/** What a domain's status is when its policy is new: nobody has started on it. */
export const NOT_STARTED: z.output<typeof certificateStatus> = {
  renews_at: null,
  provisioning_job: { error_code: null, msg: 'waiting to be started', started_at: null, retries_at: null },
};

const cname = (description: string) => derived(z.string().nullable().meta({ description }));

export const reservedDomain = resource({
  name: 'reserved_domain',
  title: 'ReservedDomain',
  prefix: 'rd',
  path: '/reserved_domains',
  collection: 'reserved_domains',
  tag: 'Reserved domains',
  description: 'A host name, or all below one, that is yours to serve endpoints on.',
  fields: {
    ...described('What is served on the domain.'),
    domain: { ...field(shownDomain, domainInput, 'required', false, null), unique: true },
    region: field(region.nullable().meta(regionAbout), region.nullable().meta(regionAbout), 'optional', false, null),
    cname_target: cname('Where a CNAME record of the domain must point; null below a domain of the service.'),
    certificate_id: optionalReference(
      [tlsCertificate],
      'certificate',
      'Not together with a certificate_management_policy.',
    ),
    certificate_management_policy: field(
      certificatePolicy.nullable(),
      z.nullable(certificatePolicyInput),
      'optional',
      true,
      null,
      'jsonb',
    ),
    certificate_management_status: derived(certificateStatus.nullable(), 'jsonb'),
    acme_challenge_cname_target: cname(
      'Where a CNAME record of `_acme-challenge.<domain>` must point for a wildcard certificate; else null.',
    ),
    http_endpoint_configuration_id: laterReference(
      [endpointConfiguration],
      'http_endpoint_configuration',
      'Of type http.',
    ),
    https_endpoint_configuration_id: laterReference(
      [endpointConfiguration],
      'https_endpoint_configuration',
      'Of type https.',
    ),
  },
  samples: {
    least: { domain: 'd{n}.example.com' },
    full: { ...DESCRIBED, domain: '*.d{n}.example.com', region: 'eu', certificate_id: '{tls_certificate.id}' },
    change: CHANGED,
  },
});
