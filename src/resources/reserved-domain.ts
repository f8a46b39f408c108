/** Reserved domains: host names that endpoints may use, and their certificates. */
import { z } from 'zod';
import { orNone } from './definition/none.ts';
import { laterReference, optionalReference } from './definition/reference.ts';
import { derived, described, field, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { endpointConfiguration } from './endpoint-configuration.ts';
import { canonicalDomain, domainForm, WILDCARD } from './formats/domain-name.ts';
import { text, timestamp } from './formats/text.ts';
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
    description:
      'Host name to reserve, optionally with a leading `*.`. International names may be in Unicode or in ASCII.',
    examples: ['app.example.com'],
    ...domainForm({ before: WILDCARD }, 'must be a host name, as in app.example.com or *.example.com'),
  });

const shownDomain = z
  .string()
  .meta({ description: 'The reserved host name, in ASCII and lower case.', examples: ['app.example.com'] });

export const region = z.enum(['au', 'eu', 'ap', 'us', 'jp', 'in', 'sa']);
const regionAbout = { description: 'Deprecated. It is stored and shown, but has no effect.', deprecated: true };

export const privateKeyType = z.enum(['rsa', 'ecdsa']);

const authorityAbout = {
  description: 'Name of the certificate authority that this installation uses.',
  examples: ['letsencrypt'],
};

const KEY_TYPE = { description: 'Type of the private key of the certificates. Default `rsa`.' };
const POLICY = 'How certificates for the domain are obtained and renewed automatically. Without it, they are not.';
const STATUS = 'How far the automatic certificate has got, if there is a policy for it.';

export const certificatePolicy = z
  .object({ authority: z.string().meta(authorityAbout), private_key_type: privateKeyType.meta(KEY_TYPE) })
  .meta({ id: 'ReservedDomainCertPolicy' });

const certificatePolicyInput = z
  .strictObject({
    authority: text().max(64).meta(authorityAbout),
    private_key_type: orNone(privateKeyType).optional().meta(KEY_TYPE),
  })
  .meta({ id: 'ReservedDomainCertPolicyInput' })
  .transform(({ authority, private_key_type }) => ({ authority, private_key_type: private_key_type ?? 'rsa' }));

const JOB = 'The job that is issuing or renewing the certificate, if there is one.';

export const certificateJob = z
  .object({
    error_code: z.enum(['INTERNAL_ERROR', 'DNS_ERROR']).nullable().meta({
      description: 'The last error, if any. INTERNAL_ERROR is temporary; DNS_ERROR lasts until you fix its cause.',
    }),
    msg: z
      .string()
      .meta({ description: 'What the job is waiting for, or what went wrong.', examples: ['waiting to be started'] }),
    started_at: timestamp().nullable().meta({ description: 'When the job started, if it has.' }),
    retries_at: timestamp().nullable().meta({ description: 'When the job will try again, if it will.' }),
  })
  .meta({ id: 'ReservedDomainCertJob' });

export const certificateStatus = z
  .object({
    renews_at: timestamp()
      .nullable()
      .meta({ description: 'When the certificate will be renewed, once one has been issued.' }),
    provisioning_job: certificateJob.nullable().meta({ description: JOB }),
  })
  .meta({ id: 'ReservedDomainCertStatus' });

const waiting = (msg: string): z.output<typeof certificateStatus> => ({
  renews_at: null,
  provisioning_job: { error_code: null, msg, started_at: null, retries_at: null },
});
/** The status of a domain whose policy is new. */
export const NOT_STARTED = waiting('waiting to be started');
export const NEVER_STARTED = waiting(
  'waiting: this installation issues no certificates, since ACME_DIRECTORY_URL is not set',
);

const cname = (description: string) => derived(z.string().nullable().meta({ description }));

export const reservedDomain = resource({
  name: 'reserved_domain',
  title: 'ReservedDomain',
  prefix: 'rd',
  path: '/reserved_domains',
  collection: 'reserved_domains',
  tag: 'Reserved domains',
  description: 'A host name, or a wildcard, reserved for your endpoints.',
  fields: {
    ...described('What is served on the domain.'),
    domain: { ...field(shownDomain, domainInput, 'required', false, null), unique: true, filterable: 'value' },
    region: field(region.nullable().meta(regionAbout), orNone(region).meta(regionAbout), 'optional', false, null),
    cname_target: cname(
      'Target of the CNAME record that the domain needs. A domain below a service domain needs none.',
    ),
    certificate_id: optionalReference(
      [tlsCertificate],
      'certificate',
      'Certificate that the domain is served with. One of its names must be the domain, or a wildcard one level above it. Cannot be combined with automatic certificates.',
    ),
    certificate_management_policy: field(
      certificatePolicy.nullable(),
      z.nullable(certificatePolicyInput.meta({ description: POLICY })),
      'optional',
      true,
      null,
      'jsonb',
    ),
    certificate_management_status: derived(certificateStatus.nullable().meta({ description: STATUS }), 'jsonb'),
    acme_challenge_cname_target: cname(
      'Target of the CNAME record that `_acme-challenge.<domain>` needs. Only a wildcard outside the service domains needs one.',
    ),
    http_endpoint_configuration_id: laterReference(
      [endpointConfiguration],
      'http_endpoint_configuration',
      'Endpoint configuration for HTTP traffic. Its type must be http.',
    ),
    https_endpoint_configuration_id: laterReference(
      [endpointConfiguration],
      'https_endpoint_configuration',
      'Endpoint configuration for HTTPS traffic. Its type must be https.',
    ),
  },
  samples: {
    least: { domain: 'd{n}.example.com' },
    full: { ...DESCRIBED, domain: 'www-{n}.example.com', region: 'eu', certificate_id: '{tls_certificate.id}' },
    change: CHANGED,
  },
});
