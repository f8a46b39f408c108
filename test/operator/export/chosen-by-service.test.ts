/** An export leaves out values that the service chose, so that the service goes on choosing them. */
import { expect, test } from 'vitest';
import { declarationOf } from '../../../src/operator/export/declaration.ts';
import { type DerivedKind, exportedMembers } from '../../../src/operator/export/spec-members.ts';
import { reservedDomainKind } from '../../../src/operator/kinds/reserved-domain.ts';
import { sshHostCertificateKind } from '../../../src/operator/kinds/ssh-host-certificate.ts';
import type { Remote } from '../../../src/operator/managed/declaration/external.ts';

const issued = {
  id: 'hcrt_1',
  uri: 'http://api/ssh_host_certificates/hcrt_1',
  description: '',
  metadata: '',
  public_key: 'ssh-ed25519 AAAA',
  key_type: 'ed25519' as const,
  ssh_certificate_authority_id: 'sshca_1',
  principals: [],
  certificate: 'ssh-ed25519-cert-v01@openssh.com AAAA',
  created_at: '2026-11-21T10:00:00.700Z',
};

const NOW = new Date('2026-12-01T00:00:00Z');

function membersOf(kind: DerivedKind, remote: Remote, now: Date): string[] {
  const members = exportedMembers(kind, remote, now);
  return Object.keys(declarationOf(members, { secretName: undefined, objectOf: () => undefined }).spec);
}

const timesIn = (certificate: Remote & { valid_after: string; valid_until: string }, now: Date) =>
  membersOf(sshHostCertificateKind, certificate, now).filter((name) => name.startsWith('valid'));

test.each([
  ['neither time if both are the defaults', '2026-11-21T10:00:00Z', '2027-11-21T10:00:00Z', []],
  ['validAfter if only that was given', '2026-11-28T00:00:00Z', '2027-11-28T00:00:00Z', ['validAfter']],
  ['both times if the end was given', '2026-11-21T10:00:00Z', '2026-12-21T10:00:00Z', ['validAfter', 'validUntil']],
  ['validAfter if the end is a minute off', '2026-11-28T00:00:00Z', '2027-11-28T00:01:00Z', ['validAfter']],
  ['both times if the end is hours off', '2026-11-28T00:00:00Z', '2027-11-28T10:00:00Z', ['validAfter', 'validUntil']],
  ['validAfter if it is backdated', '2026-11-01T00:00:00Z', '2027-11-21T10:00:00Z', ['validAfter']],
])('the export of a host certificate has %s', (_, valid_after, valid_until, expected) => {
  expect(timesIn({ ...issued, valid_after, valid_until }, NOW)).toEqual(expected);
});

test.each([
  ['before renewal is due', '2027-10-22T09:59:59Z', [], []],
  ['once renewal is due', '2027-10-22T10:00:00Z', ['validUntil'], [/ends at 2027-11-21T10:00:00Z.* remove that/]],
  ['once it has expired', '2028-01-01T00:00:00Z', ['validUntil'], [/ends at 2027-11-21T10:00:00Z.* remove that/]],
])('the default end of a host certificate is exported only if it stops a renewal: %s', (_, now, expected, remarks) => {
  const certificate = { ...issued, valid_after: '2026-11-21T10:00:00Z', valid_until: '2027-11-21T10:00:00Z' };
  expect(timesIn(certificate, new Date(now))).toEqual(expected);
  const said = sshHostCertificateKind.remarks?.(certificate, new Date(now));
  expect(said).toEqual(remarks.map((each) => expect.stringMatching(each)));
});

const policy = { authority: 'letsencrypt', private_key_type: 'rsa' };

test.each([
  ['an automatic certificate', policy, ['domain', 'certificateManagementPolicy']],
  ['a certificate that was given', null, ['domain', 'certificateRef']],
])('the export of a domain has one source of its certificate: %s', (_, certificate_management_policy, expected) => {
  const domain = {
    id: 'rd_1',
    uri: 'http://api/reserved_domains/rd_1',
    domain: 'a.example.com',
    certificate: { id: 'cert_1', uri: 'http://api/tls_certificates/cert_1' },
    certificate_management_policy,
  };
  expect(membersOf(reservedDomainKind, domain, NOW).toSorted()).toEqual(expected.toSorted());
});
