/** What an export leaves out although the resource has it: whoever never gave it wants the service to go on choosing. */
import { expect, test } from 'vitest';
import { declarationOf } from '../../../src/operator/export/declaration.ts';
import { specMembers } from '../../../src/operator/export/spec-members.ts';
import { sshHostCertificateKind } from '../../../src/operator/kinds/ssh-host-certificate.ts';

const issued = {
  id: 'hcrt_1',
  uri: 'http://api/ssh_host_certificates/hcrt_1',
  description: '',
  metadata: '',
  public_key: 'ssh-ed25519 AAAA',
  key_type: 'ed25519',
  ssh_certificate_authority_id: 'sshca_1',
  principals: [],
  certificate: 'ssh-ed25519-cert-v01@openssh.com AAAA',
  created_at: '2026-11-21T10:00:00.700Z',
};

test.each([
  ['neither time, where both are the usual ones', '2026-11-21T10:00:00Z', '2027-11-21T10:00:00Z', []],
  ['the beginning, where only that was given', '2026-11-28T00:00:00Z', '2027-11-28T00:00:00Z', ['validAfter']],
  ['both, where the end was given', '2026-11-21T10:00:00Z', '2026-12-21T10:00:00Z', ['validAfter', 'validUntil']],
  ['a year that began earlier', '2026-11-01T00:00:00Z', '2027-11-21T10:00:00Z', ['validAfter']],
])('of a host certificate, an export has %s', (_, valid_after, valid_until, expected) => {
  const certificate = { ...issued, valid_after, valid_until };
  const members = specMembers(sshHostCertificateKind, certificate);
  const { spec } = declarationOf(members, { secretName: undefined, objectOf: () => undefined });
  expect(Object.keys(spec).filter((name) => name.startsWith('valid'))).toEqual(expected);
});
