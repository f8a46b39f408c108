/** Reserved domains: host names that endpoints may use, and the certificates with which they are served. */
import { z } from 'zod';
import { orNone } from './definition/none.ts';
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
    description: 'A host name, optionally with a leading `*.`; international names in their own script or in ASCII.',
    examples: ['app.example.com'],
    ...pattern(/^(?:\*\.)?[^\s:*]+$/, 'must be a host name, as in app.example.com or *.example.com'),
  });

const shownDomain = z.string().meta({ description: 'In ASCII and lower case.', examples: ['app.example.com'] });

export const region = z.enum(['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa']);
const regionAbout = { description: 'Deprecated: stored and shown, but without effect.', deprecated: true };

export const privateKeyType = z.enum(['rsa', 'ecdsa']);

const authorityAbout = {
  description: 'The authority that this installation is set up for.',
  examples: ['letsencrypt'],
};

export const certificatePolicy = z
  .object({ authority: z.string().meta(authorityAbout), private_key_type: privateKeyType })
  .meta({
    id: 'ReservedDomainCertPolicy',
    description: 'Automatic certificates: who issues them, and for which type of key.',
  });

const certificatePolicyInput = z
  .strictObject({
    authority: text().max(64).meta(authorityAbout),
    private_key_type: orNone(privateKeyType).optional().meta({ description: 'Default `rsa`.' }),
  })
  .meta({ id: 'ReservedDomainCertPolicyInput', description: 'Automatic certificates to request.' })
  .transform(({ authority, private_key_type }) => ({ authority, private_key_type: private_key_type ?? 'rsa' }));

export const certificateJob = z
  .object({
    error_code: z.enum(['INTERNAL_ERROR', 'DNS_ERROR']).nullable().meta({
      description:
        'INTERNAL_ERROR is temporary; DNS_ERROR remains until its cause is fixed. Null if there was no error.',
    }),
    msg: z
      .string()
      .meta({ description: 'What the job waits for, or what went wrong.', examples: ['waiting to be started'] }),
    started_at: timestamp().nullable().meta({ description: 'Null until the job has started.' }),
    retries_at: timestamp()
      .nullable()
      .meta({ description: 'When the job tries again; null if it is not waiting for that.' }),
  })
  .meta({ id: 'ReservedDomainCertJob' });

export const certificateStatus = z
  .object({
    renews_at: timestamp().nullable().meta({ description: 'Null until a certificate has been issued.' }),
    provisioning_job: certificateJob.nullable().meta({ description: 'Null when nothing is being issued or renewed.' }),
  })
  .meta({ id: 'ReservedDomainCertStatus', description: 'How far the automatic certificate is.' });

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
  description: 'A host name, or a wildcard, that is reserved for your endpoints.',
  fields: {
    ...described('What is served on the domain.'),
    domain: { ...field(shownDomain, domainInput, 'required', false, null), unique: true },
    region: field(region.nullable().meta(regionAbout), orNone(region).meta(regionAbout), 'optional', false, null),
    cname_target: cname('Target of the CNAME record that the domain needs; null below a service domain.'),
    certificate_id: optionalReference(
      [tlsCertificate],
      'certificate',
      'Cannot be combined with a certificate_management_policy.',
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
      'Target of the CNAME record that `_acme-challenge.<domain>` needs for a wildcard certificate; null otherwise.',
    ),
    http_endpoint_configuration_id: laterReference(
      [endpointConfiguration],
      'http_endpoint_configuration',
      'An endpoint configuration of type http.',
    ),
    https_endpoint_configuration_id: laterReference(
      [endpointConfiguration],
      'https_endpoint_configuration',
      'An endpoint configuration of type https.',
    ),
  },
  samples: {
    least: { domain: 'd{n}.example.com' },
    full: { ...DESCRIBED, domain: '*.d{n}.example.com', region: 'eu', certificate_id: '{tls_certificate.id}' },
    change: CHANGED,
  },
});
