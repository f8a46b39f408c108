/** The certificate of a reserved domain: uploaded or automatic, never both. */
import { created, del, get, invalid, noContent, ok, patch, post, type Row, refTo, refused } from '../row.ts';

const path = '/reserved_domains';
const one = `${path}/{made.id}`;
const NOBODY = 'cert_01k9zq3v5hf8svx2r4c6y7n0wd';
const domain = { domain: '{unique}.example.com' };
const certificate = {
  certificate: post('/tls_certificates', { certificate_pem: '{pem.leaf}', private_key_pem: '{pem.leaf_key}' }),
};
const uploaded = { certificate_id: '{certificate.id}' };
const rsa = { certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'rsa' } };
const ecdsa = { certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' } };
const made = (more: Readonly<Record<string, unknown>> = {}) => ({ made: post(path, { ...domain, ...more }) });

const none = { certificate_management_policy: null, certificate_management_status: null };
const notStarted = {
  certificate_management_status: {
    renews_at: null,
    provisioning_job: { error_code: null, msg: 'waiting to be started', started_at: null, retries_at: null },
  },
};
const attached = { certificate: refTo('/tls_certificates', 'certificate') };

const JOB_ERRORS = { anyOf: [{ enum: ['INTERNAL_ERROR', 'DNS_ERROR'] }, { type: 'null' }] };

const ofType = (private_key_type: string): Row => ({
  rule: `Automatic certificates may be for ${private_key_type} keys`,
  ask: post(path, { ...domain, certificate_management_policy: { authority: 'letsencrypt', private_key_type } }),
  answer: created({ certificate_management_policy: { authority: 'letsencrypt', private_key_type } }),
});

const malformed = (rule: string, certificate_management_policy: unknown, member: string, reason: RegExp): Row => ({
  rule,
  given: made(),
  ask: post(path, { domain: 'other-{unique}.example.com', certificate_management_policy }),
  answer: invalid({ [`/certificate_management_policy${member}`]: reason }),
  later: [
    [patch(one, { certificate_management_policy }), invalid({ [`/certificate_management_policy${member}`]: reason })],
  ],
});

const automatic: readonly Row[] = [
  {
    rule: 'Without a policy the status of automatic certificates is null',
    ask: post(path, domain),
    answer: created({ certificate: null, ...none }),
  },
  {
    rule: 'A policy may be set when the domain is created; the status says that nothing has started yet',
    given: made(ecdsa),
    ask: get(one),
    answer: ok({ certificate: null, ...ecdsa, ...notStarted }),
  },
  {
    rule: 'A policy may be set later; the status says that nothing has started yet',
    given: made(),
    ask: patch(one, rsa),
    answer: ok({ certificate: null, ...rsa, ...notStarted }),
  },
  {
    rule: 'Automatic certificates use RSA keys by default',
    ask: post(path, { ...domain, certificate_management_policy: { authority: 'letsencrypt' } }),
    answer: created(rsa),
    later: [
      [
        post(path, {
          domain: 'other-{unique}.example.com',
          certificate_management_policy: { authority: 'letsencrypt', private_key_type: null },
        }),
        created(rsa),
      ],
      [
        post(path, {
          domain: 'third-{unique}.example.com',
          certificate_management_policy: { authority: 'letsencrypt', private_key_type: '' },
        }),
        created(rsa),
      ],
    ],
  },
  ofType('rsa'),
  ofType('ecdsa'),
  malformed(
    'Automatic certificates for other types of keys are refused',
    { authority: 'letsencrypt', private_key_type: 'ed25519' },
    '/private_key_type',
    /rsa/,
  ),
  malformed('A policy names an authority', { private_key_type: 'rsa' }, '/authority', /required/),
  malformed('An unknown authority is refused', { authority: 'zerossl' }, '/authority', /must be "letsencrypt"/),
  malformed('The authority must be in lower case', { authority: 'LetsEncrypt' }, '/authority', /letsencrypt/),
  malformed(
    'An unknown field of a policy is refused',
    { authority: 'letsencrypt', days: 30 },
    '/days',
    /unknown field/,
  ),
  malformed('A policy must be an object', 'letsencrypt', '', /must be an object/),
  {
    rule: 'A policy is replaced as a whole, which resets the status',
    given: made(ecdsa),
    ask: patch(one, { certificate_management_policy: { authority: 'letsencrypt' } }),
    answer: ok({ ...rsa, ...notStarted }),
  },
  {
    rule: 'A change of other fields leaves the policy alone',
    given: made(ecdsa),
    ask: patch(one, { description: 'changed' }),
    answer: ok({ description: 'changed', ...ecdsa, ...notStarted }),
  },
  {
    rule: 'Null removes the policy, and with it the status',
    given: made(ecdsa),
    ask: patch(one, { certificate_management_policy: null }),
    answer: ok(none),
  },
  {
    rule: 'The status of automatic certificates is set by the service',
    given: made(ecdsa),
    ask: patch(one, { certificate_management_status: { renews_at: '2040-01-01T00:00:00.000Z' } }),
    answer: invalid({ '/certificate_management_status': 'is set by the service' }),
  },
  {
    rule: 'An error of the job that issues certificates is documented as INTERNAL_ERROR or DNS_ERROR',
    ask: get('/openapi.json', { as: 'anonymous' }),
    answer: ok({ components: { schemas: { ReservedDomainCertJob: { properties: { error_code: JOB_ERRORS } } } } }),
  },
  {
    rule: 'Detaching the policy returns 204; the domain then has none',
    given: made(ecdsa),
    ask: del(`${one}/certificate_management_policy`),
    answer: noContent,
    later: [[get(one), ok(none)]],
  },
  {
    rule: 'Detaching a policy that is not set returns 204 and changes nothing',
    given: made(),
    ask: del(`${one}/certificate_management_policy`),
    answer: noContent,
    later: [[get(one), { ...ok(none), headers: { etag: '"1"' } }]],
  },
  {
    rule: 'Nothing can be detached from a domain that does not exist',
    ask: del(`${path}/rd_01k9zq3v5hf8svx2r4c6y7n0wd/certificate_management_policy`),
    answer: refused('NOT_FOUND'),
    later: [[del(`${path}/rd_01k9zq3v5hf8svx2r4c6y7n0wd/certificate`), refused('NOT_FOUND')]],
  },
];

const own: readonly Row[] = [
  {
    rule: 'An uploaded certificate may be set when the domain is created, and is shown as a Ref',
    given: { ...certificate, ...made(uploaded) },
    ask: get(one),
    answer: ok({ ...attached, ...none }),
  },
  {
    rule: 'An uploaded certificate may be set later, and replaced by another',
    given: { ...certificate, ...made() },
    ask: patch(one, uploaded),
    answer: ok(attached),
    later: [[patch(one, { certificate_id: null }), ok({ certificate: null })]],
  },
  {
    rule: 'The certificate of a domain must exist',
    given: made(),
    ask: post(path, { domain: 'other-{unique}.example.com', certificate_id: NOBODY }),
    answer: invalid({ '/certificate_id': `TLS certificate ${NOBODY} does not exist` }),
    later: [
      [
        patch(one, { certificate_id: NOBODY }),
        invalid({ '/certificate_id': `TLS certificate ${NOBODY} does not exist` }),
      ],
      [patch(one, { certificate_id: '{user.id}' }), invalid({ '/certificate_id': /cert_/ })],
    ],
  },
  {
    rule: 'Detaching the certificate returns 204; the domain then has none',
    given: { ...certificate, ...made(uploaded) },
    ask: del(`${one}/certificate`),
    answer: noContent,
    later: [
      [get(one), ok({ certificate: null })],
      [get('/tls_certificates/{certificate.id}'), ok({ id: '{certificate.id}' })],
    ],
  },
  {
    rule: 'Detaching a certificate that is not set returns 204 and changes nothing',
    given: made(),
    ask: del(`${one}/certificate`),
    answer: noContent,
    later: [[get(one), { ...ok({ certificate: null }), headers: { etag: '"1"' } }]],
  },
  {
    rule: 'A certificate cannot be deleted until it is detached from its domain',
    given: { ...certificate, ...made(uploaded) },
    ask: del('/tls_certificates/{certificate.id}'),
    answer: refused('RESOURCE_IN_USE', { reserved_domain: '{made.id}' }),
    later: [
      [del(`${one}/certificate`), noContent],
      [del('/tls_certificates/{certificate.id}'), noContent],
    ],
  },
];

const exclusive: readonly Row[] = [
  {
    rule: 'A new domain may have a certificate or a policy, not both',
    given: certificate,
    ask: post(path, { ...domain, ...uploaded, ...rsa }),
    answer: invalid({
      '/certificate_id': /cannot be combined/,
      '/certificate_management_policy': /cannot be combined/,
    }),
    later: [[post(path, { ...domain, ...uploaded, certificate_management_policy: null }), created(attached)]],
  },
  {
    rule: 'An update may set a certificate or a policy, not both',
    given: { ...certificate, ...made() },
    ask: patch(one, { ...uploaded, ...rsa }),
    answer: invalid({
      '/certificate_id': /cannot be combined/,
      '/certificate_management_policy': /cannot be combined/,
    }),
    later: [[get(one), ok({ certificate: null, ...none })]],
  },
  {
    rule: 'A domain with a policy may not also get an uploaded certificate',
    given: { ...certificate, ...made(rsa) },
    ask: patch(one, uploaded),
    answer: invalid({ '/certificate_id': /cannot be combined/ }),
    later: [[get(one), ok({ certificate: null, ...rsa })]],
  },
  {
    rule: 'A domain with an uploaded certificate may not also get a policy',
    given: { ...certificate, ...made(uploaded) },
    ask: patch(one, rsa),
    answer: invalid({ '/certificate_management_policy': /cannot be combined/ }),
    later: [[get(one), ok({ ...attached, ...none })]],
  },
  {
    rule: 'One request may replace a policy by a certificate',
    given: { ...certificate, ...made(rsa) },
    ask: patch(one, { ...uploaded, certificate_management_policy: null }),
    answer: ok({ ...attached, ...none }),
  },
  {
    rule: 'One request may replace a certificate by a policy',
    given: { ...certificate, ...made(uploaded) },
    ask: patch(one, { ...rsa, certificate_id: null }),
    answer: ok({ certificate: null, ...rsa, ...notStarted }),
  },
  {
    rule: 'Once the policy is detached a certificate can be attached, and vice versa',
    given: { ...certificate, ...made(rsa), detached: del(`${one}/certificate_management_policy`) },
    ask: patch(one, uploaded),
    answer: ok(attached),
    later: [
      [del(`${one}/certificate`), noContent],
      [patch(one, rsa), ok({ certificate: null, ...rsa })],
    ],
  },
];

export const domainCertificates: readonly Row[] = [...automatic, ...own, ...exclusive];
