import { sshHostCertificate } from '../../../src/resources/ssh-host-certificate.ts';
import { created, del, get, invalid, noContent, ok, patch, post, type Row, type Section } from '../row.ts';

const path = '/ssh_host_certificates';
const authorities = '/ssh_certificate_authorities';
const NOBODY = 'sshca_01k9zq3v5hf8svx2r4c6y7n0wd';
const given = { authority: post(authorities, {}) };
const least = { ssh_certificate_authority_id: '{authority.id}', public_key: '{ssh.ed25519}' };

const make = (more: Record<string, unknown> = {}) => post(path, { ...least, ...more });
const taken = (rule: string, sent: Record<string, unknown>, shown: Record<string, unknown>): Row => ({
  rule,
  given,
  ask: make(sent),
  answer: created(shown),
});

const ECDSA = /^ecdsa-sha2-nistp\d+-cert-v01@openssh\.com [A-Za-z0-9+/]+={0,2}$/;

const keys: Row[] = [
  taken(
    'An SSH host certificate for an Ed25519 key is of that type, in one line',
    { public_key: '{ssh.ed25519}' },
    {
      public_key: '{ssh.ed25519}',
      key_type: 'ed25519',
      certificate: /^ssh-ed25519-cert-v01@openssh\.com [A-Za-z0-9+/]+={0,2}$/,
    },
  ),
  taken(
    'An SSH host certificate for an RSA key is of that type',
    { public_key: '{ssh.rsa}' },
    { key_type: 'rsa', certificate: /^ssh-rsa-cert-v01@openssh\.com [A-Za-z0-9+/]+={0,2}$/ },
  ),
  ...['256', '384', '521'].map((bits) =>
    taken(
      `An SSH host certificate for an ECDSA key of nistp${bits} is of type ecdsa`,
      { public_key: `{ssh.ecdsa${bits}}` },
      { key_type: 'ecdsa', certificate: ECDSA },
    ),
  ),
  taken(
    'The public key of a host is shown as it was sent, with its comment and the white space around the line',
    { public_key: ' {ssh.ed25519} root@web-1\n' },
    { public_key: ' {ssh.ed25519} root@web-1\n' },
  ),
  {
    rule: 'Reading an SSH host certificate back returns the same',
    given: { ...given, made: make() },
    ask: get(`${path}/{made.id}`),
    answer: ok({
      public_key: '{ssh.ed25519}',
      key_type: 'ed25519',
      ssh_certificate_authority_id: '{authority.id}',
      principals: [],
      valid_after: '{made.valid_after}',
      valid_until: '{made.valid_until}',
      certificate: '{made.certificate}',
    }),
  },
];

const principals: Row[] = [
  taken('Principals are host names and addresses', names('web-1.example.com', '192.0.2.1', '2001:db8::1'), {
    ...names('web-1.example.com', '192.0.2.1', '2001:db8::1'),
  }),
  taken('A host certificate without principals is for all hosts: an empty list', names(), names()),
  taken('Principals may be left out, which means none', {}, names()),
  taken('Principals may be null, which means none', { principals: null }, names()),
  taken('Host names are shown in lower case', names('WEB-1.Example.com'), names('web-1.example.com')),
  taken('Addresses are shown in canonical form', names('2001:DB8:0:0::0001'), names('2001:db8::1')),
  taken(
    'An IPv4 address mapped into IPv6 is shown in dots, which is how ssh looks for it',
    names('::FFFF:c000:0201'),
    names('::ffff:192.0.2.1'),
  ),
  {
    rule: 'A host certificate has at most 256 principals',
    given,
    ask: make({ principals: hosts(256) }),
    answer: created({ principals: hosts(256) }),
    later: [[make({ principals: hosts(257) }), invalid({ '/principals': /at most 256/ })]],
  },
];

function names(...principals: string[]) {
  return { principals };
}

function hosts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `web-${index}.example.com`);
}

const validity: Row[] = [
  taken(
    'A host certificate is valid from now on for one year, unless something else is asked for',
    {},
    {
      valid_after: /^({now.minute}|{now.next_minute}):\d\dZ$/,
      valid_until: /^({now.year_later}|{now.year_later_next_minute}):\d\dZ$/,
    },
  ),
  taken(
    'Null for start and end means the same as leaving them out',
    { valid_after: null, valid_until: null },
    {
      valid_after: /^({now.minute}|{now.next_minute}):/,
      valid_until: /^({now.year_later}|{now.year_later_next_minute}):/,
    },
  ),
  taken(
    'Start and end may be given, with any offset; they show in UTC and whole seconds',
    { valid_after: '2026-01-01T02:00:00.9+02:00', valid_until: '2026-02-01T00:00:00-01:00' },
    { valid_after: '2026-01-01T00:00:00Z', valid_until: '2026-02-01T01:00:00Z' },
  ),
  taken(
    'With a later start, the year counts from there',
    { valid_after: '2199-05-06T07:08:09Z' },
    { valid_after: '2199-05-06T07:08:09Z', valid_until: '2200-05-06T07:08:09Z' },
  ),
  taken(
    'With an earlier start, the year counts from now',
    { valid_after: '2001-02-03T04:05:06Z' },
    { valid_until: /^({now.year_later}|{now.year_later_next_minute}):/ },
  ),
  taken(
    'A host certificate may have ended before it is made',
    { valid_after: '1970-01-01T00:00:00Z', valid_until: '1970-01-01T00:00:01Z' },
    { valid_after: '1970-01-01T00:00:00Z', valid_until: '1970-01-01T00:00:01Z' },
  ),
];

const wrong = (rule: string, sent: Record<string, unknown>, details: Record<string, RegExp | string>): Row => ({
  rule,
  given,
  ask: make(sent),
  answer: invalid(details),
});
const wrongKey = (rule: string, public_key: unknown, reason: RegExp) =>
  wrong(rule, { public_key }, { '/public_key': reason });
const wrongPrincipal = (rule: string, principal: unknown, reason: RegExp) =>
  wrong(rule, { principals: [principal] }, { '/principals/0': reason });

const START = '2026-01-01T00:00:00Z';

const refusals: Row[] = [
  wrong(
    'A host certificate cannot end when it begins',
    { valid_after: START, valid_until: START },
    { '/valid_until': /after valid_after/ },
  ),
  wrong(
    'A host certificate cannot end before it begins',
    { valid_after: START, valid_until: '2025-12-31T23:59:59Z' },
    { '/valid_until': /after valid_after/ },
  ),
  wrong(
    'A host certificate that begins now cannot have ended',
    { valid_until: '2001-01-01T00:00:00Z' },
    { '/valid_until': /in the future/ },
  ),
  wrong(
    'Start and end are RFC 3339, not anything else that looks like a date',
    { valid_after: '2026-01-01', valid_until: 1_800_000_000 },
    { '/valid_after': /./, '/valid_until': /./ },
  ),
  wrong(
    'A host certificate cannot begin before 1970',
    { valid_after: '1969-12-31T23:59:59Z' },
    { '/valid_after': /1970/ },
  ),
  wrongKey('A DSA key of a host is refused', '{ssh.dsa}', /DSA/),
  wrongKey('An RSA key of a host has at least 2048 bits', '{ssh.short_rsa}', /1024 bits/),
  wrongKey('The key of a security token cannot be that of a host', 'sk-ssh-ed25519@openssh.com AAAA', /security token/),
  wrongKey('A certificate is not signed again', 'ssh-ed25519-cert-v01@openssh.com AAAA', /is a certificate/),
  wrongKey('The private key of a host is refused', '-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA', /private key/),
  wrongKey('What is no public key is refused', 'garbage', /one line/),
  wrongKey('A public key in PEM is refused', '{pem.ca}', /one line/),
  wrongKey('A public key that is not base64 is refused', 'ssh-ed25519 ????', /not base64/),
  wrongKey('A public key that is cut off is refused', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA', /./),
  wrongKey('A public key of another type than it says is refused', '{ssh.mislabelled}', /not of the type/),
  wrongKey('Options before a public key are refused', 'no-pty {ssh.ed25519}', /without options/),
  wrongKey('Two public keys are not one', '{ssh.ed25519}\n{ssh.ed25519}', /several lines/),
  wrongKey(
    'The comment of a public key has no control characters',
    '{ssh.ed25519} \u001b[2Jroot',
    /control characters/,
  ),
  wrongKey('A line of a public key may have 8192 characters', `{ssh.ed25519} ${'x'.repeat(8192)}`, /8192 characters/),
  wrongPrincipal('A principal with a wildcard is refused', '*.example.com', /wildcards/),
  wrongPrincipal('A principal with a port is refused', 'web-1.example.com:22', /./),
  wrongPrincipal('A principal is a host name or an address', 'web_1', /label/),
  wrongPrincipal('A principal that is not quite an address is refused', '192.0.2.256', /IPv4/),
  wrongPrincipal('An empty text is no principal', '', /empty/),
  wrong('A principal that is there in another spelling is refused', names('web-1.example.com', 'WEB-1.example.com'), {
    '/principals/1': /already/,
  }),
  wrong(
    'An SSH host certificate is signed by an authority that exists',
    { ssh_certificate_authority_id: NOBODY },
    { '/ssh_certificate_authority_id': /does not exist/ },
  ),
  wrong(
    'An SSH host certificate is not signed by an authority of another kind',
    { ssh_certificate_authority_id: 'ca_01k9zq3v5hf8svx2r4c6y7n0wd' },
    { '/ssh_certificate_authority_id': /sshca_/ },
  ),
  wrong(
    'Key type and certificate come from the service and cannot be sent',
    { key_type: 'ed25519', certificate: 'mine' },
    { '/key_type': 'is set by the service', '/certificate': 'is set by the service' },
  ),
];

export const sshHostCertificates: Section = {
  title: 'SSH host certificates',
  family: sshHostCertificate,
  rows: [
    ...keys,
    ...principals,
    ...validity,
    {
      rule: 'Only the description and metadata of an SSH host certificate can be changed',
      given: { ...given, made: make() },
      ask: patch(`${path}/{made.id}`, { public_key: '{ssh.rsa}', principals: ['a.example'], valid_until: START }),
      answer: invalid({
        '/public_key': 'cannot be changed',
        '/principals': 'cannot be changed',
        '/valid_until': 'cannot be changed',
      }),
      later: [
        [
          patch(`${path}/{made.id}`, { ssh_certificate_authority_id: NOBODY, valid_after: START }),
          invalid({ '/ssh_certificate_authority_id': 'cannot be changed', '/valid_after': 'cannot be changed' }),
        ],
        [patch(`${path}/{made.id}`, { description: 'changed' }), ok({ certificate: '{made.certificate}' })],
      ],
    },
    ...refusals,
    {
      rule: 'An authority can be deleted once its last SSH host certificate is deleted',
      given: { ...given, made: make() },
      ask: del(`${path}/{made.id}`),
      answer: noContent,
      later: [[del(`${authorities}/{authority.id}`), noContent]],
    },
  ],
};
