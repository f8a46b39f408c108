import { certificateAuthority } from '../../../src/resources/certificate-authority.ts';
import { KEY_USAGES } from '../../../src/resources/formats/x509-names.ts';
import { created, del, get, idOf, invalid, ok, post, put, type Row, refused, type Section } from '../row.ts';

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
  made('The validity of a certificate authority is that of its PEM; an expired one is accepted', '{pem.ca_expired}', {
    not_before: '2001-02-03T04:05:06.000Z',
    not_after: '2002-03-04T05:06:07.000Z',
  }),
  made('Key usages have the nine names of RFC 5280', '{pem.ca_with_all_usages}', {
    key_usages: KEY_USAGES,
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
];

const wrong = (rule: string, ca_pem: unknown, reason: RegExp): Row => ({
  rule,
  ask: post(path, { ca_pem }),
  answer: invalid({ '/ca_pem': reason }),
});

const refusals: Row[] = [
  wrong('A certificate whose basic constraints do not mark it as a CA is refused', '{pem.leaf}', /not a CA/),
  wrong(
    'A certificate authority must be one certificate, not a chain',
    '{pem.intermediate_ca}{pem.ca}',
    /2 certificates/,
  ),
  {
    rule: 'The PEM of a CA has at most 32768 bytes',
    ask: post(path, { ca_pem: '{pem.ca_at_limit}' }),
    answer: created({ subject_common_name: 'Device CA' }),
    later: [[post(path, { ca_pem: '{pem.ca_at_limit} ' }), invalid({ '/ca_pem': /32768 bytes/ })]],
  },
];

const edge = '/edges/tls/{edge.id}';

export const certificateAuthorities: Section = {
  title: 'Certificate authorities',
  family: certificateAuthority,
  rows: [
    ...derived,
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
