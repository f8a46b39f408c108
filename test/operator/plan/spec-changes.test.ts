/** The old values that a plan shows. */
import { expect, test } from 'vitest';
import { hostKeyLine } from '../../../dev/fixtures/ssh-keys.ts';
import { kinds } from '../../../src/operator/kinds/kinds.ts';
import { changesOf } from '../../../src/operator/plan/spec-changes.ts';

const certificates = kinds.find(({ kind }) => kind === 'SSHHostCertificate');

test('the end of a host certificate is shown also where the service has chosen it', () => {
  if (!certificates) throw new Error('there is no such kind');
  const [created_at, valid_until] = ['2026-11-21T10:00:00.000Z', '2027-11-21T10:00:00.000Z'];
  const declared = certificates.spec.parse({
    publicKey: { value: hostKeyLine() },
    sshCertificateAuthorityRef: { id: 'sshca_01m81401erfqeac94c037gzxd2' },
    validUntil: '2028-11-21T10:00:00.000Z',
  });
  const changes = changesOf(certificates, {
    namespace: 'n',
    declared,
    texts: new Map(),
    targets: new Map(),
    remote: { id: 'x', uri: 'u', created_at, valid_after: created_at, valid_until } as never,
    members: ['validUntil'],
    secretBefore: [],
  });
  expect(changes).toEqual([{ path: 'spec.validUntil', before: valid_until, after: '2028-11-21T10:00:00.000Z' }]);
});
