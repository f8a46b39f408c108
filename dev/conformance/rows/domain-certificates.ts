/** The certificate of a reserved domain: uploaded or automatic, never both. */
import { created, del, get, invalid, noContent, ok, patch, post, type Row, refTo } from '../row.ts';

const path = '/reserved_domains';
const one = `${path}/{made.id}`;

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
  ofType('ecdsa'),
  malformed(
    'Automatic certificates for other types of keys are refused',
    { authority: 'letsencrypt', private_key_type: 'ed25519' },
    '/private_key_type',
    /rsa/,
  ),
  malformed('An unknown authority is refused', { authority: 'zerossl' }, '/authority', /must be "letsencrypt"/),
  {
    rule: 'A policy is replaced as a whole, which resets the status',
    given: made(ecdsa),
    ask: patch(one, { certificate_management_policy: { authority: 'letsencrypt' } }),
    answer: ok({ ...rsa, ...notStarted }),
  },
  {
    rule: 'Null removes the policy, and with it the status',
    given: made(ecdsa),
    ask: patch(one, { certificate_management_policy: null }),
    answer: ok(none),
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
];

const MISMATCH = /cert_\w+ is for app\.example\.com, \*\.example\.com, not for /;

const own: readonly Row[] = [
  ...['{unique}.example.net', '*.{unique}.example.com', 'deep.{unique}.example.com'].map(
    (name): Row => ({
      rule: `A certificate for other names is refused, at creation and later: app.example.com and *.example.com for ${name.replace('{unique}', 'shop')}`,
      given: { ...certificate, made: post(path, { domain: name }) },
      ask: patch(one, uploaded),
      answer: invalid({ '/certificate_id': MISMATCH }),
      later: [
        [del(one), noContent],
        [post(path, { domain: name, ...uploaded }), invalid({ '/certificate_id': MISMATCH })],
      ],
    }),
  ),
  {
    rule: 'A certificate that has expired is accepted',
    given: { ...certificate, ...made() },
    ask: patch(one, uploaded),
    answer: ok(attached),
  },
  {
    rule: 'Detaching the certificate returns 204; the domain then has none, and the certificate may be deleted',
    given: { ...certificate, ...made(uploaded) },
    ask: del(`${one}/certificate`),
    answer: noContent,
    later: [
      [get(one), ok({ certificate: null })],
      [get('/tls_certificates/{certificate.id}'), ok({ id: '{certificate.id}' })],
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
    rule: 'One request may replace a policy by a certificate, or a certificate by a policy',
    given: { ...certificate, ...made(rsa) },
    ask: patch(one, { ...uploaded, certificate_management_policy: null }),
    answer: ok({ ...attached, ...none }),
    later: [[patch(one, { certificate_id: null, ...rsa }), ok({ certificate: null, ...rsa })]],
  },
];

export const domainCertificates: readonly Row[] = [...automatic, ...own, ...exclusive];
