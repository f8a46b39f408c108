import { sshHostCertificate } from '../../../src/resources/ssh-host-certificate.ts';
import { created, invalid, post, type Row, type Section } from '../row.ts';

const path = '/ssh_host_certificates';
const authorities = '/ssh_certificate_authorities';

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
];

const principals: Row[] = [
  taken('Principals are host names and addresses', names('web-1.example.com', '192.0.2.1', '2001:db8::1'), {
    ...names('web-1.example.com', '192.0.2.1', '2001:db8::1'),
  }),
  taken('A host certificate without principals is for all hosts: an empty list', names(), names()),
  taken(
    'A principal may be a pattern with the wildcards * and ?',
    names('*', '*.Web.example.com', 'web-?.example.com', '192.0.2.*', '2001:db8::*'),
    names('*', '*.web.example.com', 'web-?.example.com', '192.0.2.*', '2001:db8::*'),
  ),
  taken('Host names are shown in lower case', names('WEB-1.Example.com'), names('web-1.example.com')),
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
    'Start and end may be given, with any offset; they show in UTC and whole seconds',
    { valid_after: '2026-01-01T02:00:00.9+02:00', valid_until: '2026-02-01T00:00:00-01:00' },
    { valid_after: '2026-01-01T00:00:00Z', valid_until: '2026-02-01T01:00:00Z' },
  ),
  taken(
    'With a later start, the year counts from there',
    { valid_after: '2199-05-06T07:08:09Z' },
    { valid_after: '2199-05-06T07:08:09Z', valid_until: '2200-05-06T07:08:09Z' },
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
    'A host certificate that begins now cannot have ended',
    { valid_until: '2001-01-01T00:00:00Z' },
    { '/valid_until': /in the future/ },
  ),
  wrong(
    'A host certificate cannot begin before 1970',
    { valid_after: '1969-12-31T23:59:59Z' },
    { '/valid_after': /1970/ },
  ),
  wrongKey('A malformed public key is refused', 'garbage', /one line/),
  wrongKey('Two public keys are refused', '{ssh.ed25519}\n{ssh.ed25519}', /several lines/),
  wrongPrincipal('A principal with a wildcard has nothing that names lack', '*.example.com,!web', /not a pattern/),
  wrongPrincipal('A principal is a host name or an address', 'web_1', /label/),
  wrong(
    'A principal that is repeated in another spelling is refused',
    names('web-1.example.com', 'WEB-1.example.com'),
    {
      '/principals/1': /already/,
    },
  ),
];

export const sshHostCertificates: Section = {
  title: 'SSH host certificates',
  family: sshHostCertificate,
  rows: [...keys, ...principals, ...validity, ...refusals],
};
