import { certificateAuthority } from '../../../src/resources/certificate-authority.ts';
import { created, del, get, idOf, invalid, ok, patch, post, put, type Row, refused, type Section } from '../row.ts';

const path = '/certificate_authorities';
const family = { one: 'a certificate authority', many: 'certificate authorities', path, least: { ca_pem: '{pem.ca}' } };

const made = (rule: string, ca_pem: string, shown: Record<string, unknown>): Row => ({
  rule,
  ask: post(path, { ca_pem }),
  answer: created(shown),
});

const derived: Row[] = [
  {
    rule: 'The PEM of a certificate authority is returned unchanged, including surrounding white space',
    given: { made: post(path, { ca_pem: '\r\n{pem.ca}\n\n' }) },
    ask: get(`${path}/{made.id}`),
    answer: ok({ ca_pem: '\r\n{pem.ca}\n\n' }),
  },
  made('The common name of a certificate authority is that of the subject of its PEM', '{pem.ca}', {
    subject_common_name: 'Device CA',
  }),
  made('The common name of a certificate authority is null if the PEM has none', '{pem.ca_without_name}', {
    subject_common_name: null,
  }),
  made('The validity of a certificate authority is that of its PEM; an expired one is accepted', '{pem.ca_expired}', {
    not_before: '2001-02-03T04:05:06.000Z',
    not_after: '2002-03-04T05:06:07.000Z',
  }),
  made('A certificate authority that is not valid yet is accepted', '{pem.ca_of_the_future}', {
    not_before: '2101-02-03T04:05:06.000Z',
    not_after: '2102-03-04T05:06:07.000Z',
  }),
  made('Key usages say what the key of a certificate authority may do', '{pem.ca}', {
    key_usages: ['keyCertSign', 'cRLSign'],
    extended_key_usages: ['clientAuth'],
  }),
  made('Key usages have the nine names of RFC 5280', '{pem.ca_with_all_usages}', {
    key_usages: [
      'digitalSignature',
      'nonRepudiation',
      'keyEncipherment',
      'dataEncipherment',
      'keyAgreement',
      'keyCertSign',
      'cRLSign',
      'encipherOnly',
      'decipherOnly',
    ],
  }),
  made(
    'Extended key usages have the names of RFC 5280; other purposes show as object identifiers',
    '{pem.ca_with_all_purposes}',
    {
      extended_key_usages: [
        'anyExtendedKeyUsage',
        'serverAuth',
        'clientAuth',
        'codeSigning',
        'emailProtection',
        'timeStamping',
        'OCSPSigning',
        '1.3.6.1.4.1.311.20.2.2',
      ],
    },
  ),
  made('Both usages are empty for a certificate that does not restrict them', '{pem.ca_without_name}', {
    key_usages: [],
    extended_key_usages: [],
  }),
  made('A certificate authority may be an intermediate', '{pem.intermediate_ca}', {
    subject_common_name: 'Below the device CA',
  }),
];

const wrong = (rule: string, ca_pem: unknown, reason: RegExp): Row => ({
  rule,
  ask: post(path, { ca_pem }),
  answer: invalid({ '/ca_pem': reason }),
});

const refusals: Row[] = [
  wrong('A certificate whose basic constraints do not mark it as a CA is refused', '{pem.leaf}', /not a CA/),
  wrong('A CA whose key usage lacks certificate signing is refused', '{pem.ca_without_signing}', /keyCertSign/),
  wrong('The RSA key of a CA has at least 2048 bits', '{pem.ca_with_short_key}', /1024 bits/),
  wrong(
    'A certificate authority must be one certificate, not a chain',
    '{pem.intermediate_ca}{pem.ca}',
    /2 certificates/,
  ),
  wrong('A private key in place of a CA is refused', '{pem.ca_key}', /private key/),
  wrong('A private key after the CA is refused', '{pem.ca}{pem.ca_key}', /private key/),
  wrong(
    'Another kind of PEM is refused as a CA',
    '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n',
    /PUBLIC KEY/,
  ),
  wrong('Text that is not PEM is refused as a CA', 'garbage', /not PEM/),
  wrong(
    'PEM without a certificate is refused as a CA',
    '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
    /./,
  ),
  wrong('A truncated CA is refused', '-----BEGIN CERTIFICATE-----\nAAAA', /truncated/),
  wrong('Text around the PEM of a CA is refused', '{pem.ca}and more', /outside/),
  wrong('Bytes after the certificate of a CA are refused', '{pem.ca_with_tail}', /trailing/),
  wrong('A CA whose dates do not exist is refused', '{pem.ca_until_february_30}', /notAfter that is not a valid date/),
  wrong(
    'A CA whose dates different parsers read differently is refused',
    '{pem.ca_until_the_year_1}',
    /different dates/,
  ),
  wrong(
    'The signature of a self-signed CA must verify with its own key',
    '{pem.ca_with_wrong_signature}',
    /does not verify/,
  ),
  wrong('BEGIN and END of a CA must each be on its own line', '{pem.ca_in_one_line}', /on its own line/),
  made('The lines of a CA may have any length', '{pem.ca_in_three_lines}', { ca_pem: '{pem.ca_in_three_lines}' }),
  wrong('An empty text is refused as a CA', '', /empty/),
  wrong('Null is refused as a CA', null, /string/),
  {
    rule: 'The PEM of a CA has at most 32768 bytes',
    ask: post(path, { ca_pem: '{pem.ca_at_limit}' }),
    answer: created({ subject_common_name: 'Device CA' }),
    later: [[post(path, { ca_pem: '{pem.ca_at_limit} ' }), invalid({ '/ca_pem': /32768 bytes/ })]],
  },
  wrong('A PEM of a megabyte is refused', 'x'.repeat(1_000_000), /32768 bytes/),
];

const edge = '/edges/tls/{edge.id}';

export const certificateAuthorities: Section = {
  title: 'Certificate authorities',
  family: certificateAuthority,
  rows: [
    ...derived,
    {
      rule: 'The PEM of a certificate authority cannot be changed',
      given: { made: post(path, family.least) },
      ask: patch(`${path}/{made.id}`, { ca_pem: '{pem.ca_expired}' }),
      answer: invalid({ '/ca_pem': 'cannot be changed' }),
      later: [[get(`${path}/{made.id}`), ok({ ca_pem: '{pem.ca}' })]],
    },
    {
      rule: 'Fields derived from the PEM of a certificate authority cannot be sent',
      ask: post(path, {
        ...family.least,
        subject_common_name: 'Mine',
        not_before: '2026-01-01T00:00:00Z',
        not_after: '2027-01-01T00:00:00Z',
        key_usages: [],
        extended_key_usages: [],
      }),
      answer: invalid({
        '/subject_common_name': 'is set by the service',
        '/not_before': 'is set by the service',
        '/not_after': 'is set by the service',
        '/key_usages': 'is set by the service',
        '/extended_key_usages': 'is set by the service',
      }),
    },
    ...refusals,
    {
      rule: 'A certificate authority cannot be deleted while an edge validates clients against it; the error names the edge',
      given: {
        ca: post(path, family.least),
        edge: post('/edges/tls', {}),
        module: put(`${edge}/mutual_tls`, { certificate_authority_ids: ['{ca.id}'] }),
      },
      ask: del(`${path}/{ca.id}`),
      answer: refused('RESOURCE_IN_USE', { tls_edge: '{edge.id}' }),
      later: [[get(`${path}/{ca.id}`), ok({ id: idOf('ca') })]],
    },
  ],
};
