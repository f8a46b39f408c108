import { KEY_USAGES } from '../../../src/resources/formats/x509-names.ts';
import { tlsCertificate } from '../../../src/resources/tls-certificate.ts';
import { created, del, get, invalid, noContent, ok, patch, post, type Row, type Section } from '../row.ts';

const path = '/tls_certificates';
const pair = (certificate_pem: unknown, private_key_pem: unknown) => ({ certificate_pem, private_key_pem });
const least = pair('{pem.leaf}', '{pem.leaf_key}');

const takes = (rule: string, sent: object, shown: object): Row => ({
  rule,
  ask: post(path, sent),
  answer: created(shown),
});
const wrongChain = (rule: string, chain: unknown, reason: RegExp, key = '{pem.leaf_key}'): Row => ({
  rule,
  ask: post(path, pair(chain, key)),
  answer: invalid({ '/certificate_pem': reason }),
});
const wrongKey = (rule: string, key: unknown, reason: RegExp, chain = '{pem.leaf}'): Row => ({
  rule,
  ask: post(path, pair(chain, key)),
  answer: invalid({ '/private_key_pem': reason }),
});

const derived: Row[] = [
  takes('A TLS certificate shows what its PEM says', least, {
    certificate_pem: '{pem.leaf}',
    subject_common_name: 'app.example.com',
    not_before: '2001-02-03T04:05:06.000Z',
    not_after: '2002-03-04T05:06:07.000Z',
    chain_not_after: '2002-03-04T05:06:07.000Z',
    key_usages: ['digitalSignature'],
    extended_key_usages: ['serverAuth'],
    subject_alternative_names: { dns_names: ['app.example.com', '*.example.com'], ips: ['192.0.2.1'] },
    serial_number: '04d2f1a09b3c',
    private_key_type: 'ecdsa',
    issued_at: null,
  }),
  takes(
    'The key usages of a TLS certificate are named as in RFC 5280',
    pair('{pem.leaf_with_all_usages}', '{pem.leaf_with_all_usages_key}'),
    { key_usages: KEY_USAGES },
  ),
  takes('The key of a TLS certificate may be RSA', pair('{pem.rsa}', '{pem.rsa_key}'), { private_key_type: 'rsa' }),
  takes('The key of a TLS certificate may be Ed25519', pair('{pem.ed25519}', '{pem.ed25519_key}'), {
    private_key_type: 'ed25519',
  }),
  takes('The key of a TLS certificate may be in PKCS #1', pair('{pem.rsa}', '{pem.rsa_key_pkcs1}'), {
    private_key_type: 'rsa',
  }),
  takes(
    'A TLS certificate may include its issuers; the fields show the first certificate',
    pair('{pem.chain}', '{pem.chain_key}'),
    {
      certificate_pem: '{pem.chain}',
      subject_common_name: 'below.example.com',
    },
  ),
  takes(
    'The issuers in a chain may be in any order, and one may be there twice, signed by two roots',
    pair('{pem.chain_cross_signed}', '{pem.chain_key}'),
    { certificate_pem: '{pem.chain_cross_signed}', subject_common_name: 'below.example.com' },
  ),
  takes(
    'A chain ends with the certificate that expires first, and is accepted after that',
    pair('{pem.chain_outlasted}', '{pem.chain_outlasted_key}'),
    { chain_not_after: '2002-03-04T05:06:07.000Z' },
  ),
  takes(
    'Text before a certificate and before a private key is allowed; the chain is returned as it was sent',
    pair('{pem.leaf_with_attributes}', '{pem.leaf_key_with_attributes}'),
    { certificate_pem: '{pem.leaf_with_attributes}' },
  ),
  {
    rule: 'No response contains the private key of a TLS certificate, not even as null',
    given: { made: post(path, least) },
    ask: get(`${path}/{made.id}`),
    answer: ok({ private_key_pem: undefined, private_key: undefined }),
    later: [
      [post(path, least), created({ private_key_pem: undefined })],
      [patch(`${path}/{made.id}`, { description: 'changed' }), ok({ private_key_pem: undefined })],
      [del(`${path}/{made.id}`), noContent],
    ],
  },
  {
    rule: 'Certificate and key of a TLS certificate may be sent back with a change of something else',
    given: { made: post(path, least) },
    ask: patch(`${path}/{made.id}`, { ...least, description: 'changed' }),
    answer: ok({ description: 'changed', private_key_pem: undefined }),
  },
];

const refusals: Row[] = [
  wrongKey('The key of another certificate is refused', '{pem.other_key}', /not the key of the first certificate/),
  wrongKey('A private key with a passphrase is refused', '{pem.leaf_key_encrypted}', /passphrase/),
  wrongChain(
    'Issuers before the certificate itself are refused',
    '{pem.chain_in_wrong_order}',
    /comes first/,
    '{pem.chain_key}',
  ),
  wrongChain(
    'A certificate that has signed none of the chain is refused',
    '{pem.chain_with_stranger}',
    /certificate 3 has signed neither/,
    '{pem.chain_key}',
  ),
  wrongChain('A byte order mark before -----BEGIN is refused', '{pem.leaf_after_mark}', /byte order mark/),
  {
    rule: 'If both chain and key are wrong, the error lists both',
    ask: post(path, pair('garbage', 'garbage')),
    answer: invalid({ '/certificate_pem': /not PEM/, '/private_key_pem': /not PEM/ }),
  },
  {
    rule: 'A chain has at most 10 certificates',
    ask: post(path, pair('{pem.chain_of_ten}', '{pem.chain_key}')),
    answer: created({ certificate_pem: '{pem.chain_of_ten}' }),
    later: [
      [post(path, pair('{pem.chain_of_eleven}', '{pem.chain_key}')), invalid({ '/certificate_pem': /more than 10/ })],
    ],
  },
  {
    rule: 'A chain has at most 65536 bytes',
    ask: post(path, pair('{pem.leaf_at_limit}', '{pem.leaf_key}')),
    answer: created({ serial_number: '04d2f1a09b3c' }),
    later: [[post(path, pair('{pem.leaf_at_limit} ', '{pem.leaf_key}')), invalid({ '/certificate_pem': /65536/ })]],
  },
  {
    rule: 'A private key has at most 16384 bytes',
    ask: post(path, pair('{pem.leaf}', '{pem.leaf_key_at_limit}')),
    answer: created({ serial_number: '04d2f1a09b3c' }),
    later: [[post(path, pair('{pem.leaf}', '{pem.leaf_key_at_limit} ')), invalid({ '/private_key_pem': /16384/ })]],
  },
];

export const tlsCertificates: Section = {
  title: 'Extension: TLS certificates',
  family: tlsCertificate,
  rows: [...derived, ...refusals],
};
