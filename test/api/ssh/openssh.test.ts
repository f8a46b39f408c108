/** Certificates that the API has signed, checked by OpenSSH itself. */
import { describe, expect, test } from 'vitest';
import { sshCertificateAuthority } from '../../../src/resources/ssh-certificate-authority.ts';
import { sshHostCertificate } from '../../../src/resources/ssh-host-certificate.ts';
import { skipFor } from '../../skip.ts';
import { startTestApi } from '../harness.ts';
import { readCertificate } from './certificate-reader.ts';
import { describeCertificate, keygen, missing } from './openssh.ts';

const api = await startTestApi();
const { admin } = api;

const AUTHORITIES = [
  { private_key_type: 'rsa' },
  { private_key_type: 'ecdsa', elliptic_curve: 'nistp256' },
  { private_key_type: 'ecdsa', elliptic_curve: 'nistp384' },
  { private_key_type: 'ecdsa', elliptic_curve: 'nistp521' },
  { private_key_type: 'ed25519' },
] as const;

const SIGNED_WITH: Record<string, string> = {
  rsa: 'rsa-sha2-512',
  nistp256: 'ecdsa-sha2-nistp256',
  nistp384: 'ecdsa-sha2-nistp384',
  nistp521: 'ecdsa-sha2-nistp521',
  ed25519: 'ssh-ed25519',
};

const HOST_KEYS: [keyType: string, name: string, ...args: string[]][] = [
  ['rsa', 'RSA-CERT', '-t', 'rsa', '-b', '2048'],
  ['rsa', 'RSA-CERT', '-t', 'rsa', '-b', '3072'],
  ['ecdsa', 'ECDSA-CERT', '-t', 'ecdsa', '-b', '256'],
  ['ecdsa', 'ECDSA-CERT', '-t', 'ecdsa', '-b', '384'],
  ['ecdsa', 'ECDSA-CERT', '-t', 'ecdsa', '-b', '521'],
  ['ed25519', 'ED25519-CERT', '-t', 'ed25519'],
];

const authorities = await Promise.all(
  AUTHORITIES.map(async (asked) => {
    const made = (await admin.post('/ssh_certificate_authorities', asked)).as(sshCertificateAuthority.view);
    return { ...made, name: made.elliptic_curve ?? made.key_type };
  }),
);
type Authority = (typeof authorities)[number];

const hostKeys = missing
  ? []
  : await Promise.all(
      HOST_KEYS.map(async ([keyType, name, ...args]) => ({
        keyType,
        name,
        made: args.join(' '),
        ...(await keygen(...args)),
      })),
    );
type HostKey = (typeof hostKeys)[number];

async function certify({ id }: Pick<Authority, 'id'>, { publicKey }: Pick<HostKey, 'publicKey'>, more: object = {}) {
  const body = { ssh_certificate_authority_id: id, public_key: publicKey, ...more };
  return (await admin.post('/ssh_host_certificates', body)).as(sshHostCertificate.view);
}

const pairs = authorities.flatMap((authority) =>
  hostKeys.map((hostKey) => ({ authority, hostKey, title: `${hostKey.made} signed by ${authority.name}` })),
);

describe('ssh-keygen -L', skipFor(missing), () => {
  test.each(pairs)('reads and verifies a certificate for a key of $title', async ({ authority, hostKey }) => {
    const asked = {
      principals: ['web-1.example.com', '192.0.2.1'],
      valid_after: '2026-01-02T03:04:05Z',
      valid_until: '2036-01-02T03:04:05Z',
    };
    const certificate = await certify(authority, hostKey, asked);
    expect(certificate.key_type).toBe(hostKey.keyType);
    const read = readCertificate(certificate.certificate);
    expect(read).toMatchObject({ signatureIsValid: true, signatureType: SIGNED_WITH[authority.name] });

    const lines = await describeCertificate(certificate.certificate);
    expect(lines[1]).toMatch(/^Type: (?:ssh|ecdsa)-\S+-cert-v01@openssh\.com host certificate$/);
    expect(lines[2]).toContain(`Public key: ${hostKey.name} SHA256:`);
    expect(lines[3]).toContain(`(using ${SIGNED_WITH[authority.name]})`);
    expect(lines).toContain(`Key ID: "${certificate.id}"`);
    expect(lines).toContain(`Serial: ${read.serial}`);
    expect(lines).toContain('Critical Options: (none)');
    expect(lines).toContain('Extensions: (none)');
    const principals = lines.slice(lines.indexOf('Principals:') + 1, lines.indexOf('Critical Options: (none)'));
    expect(principals).toEqual(asked.principals);
    expect(lines.find((line) => line.startsWith('Valid:'))).toMatch(/from 2026-01-0\dT\S+ to 2036-01-0\dT/);
  });

  test('reads a certificate for any host', async () => {
    const [authority] = authorities.slice(-1);
    const [hostKey] = hostKeys;
    if (!authority || !hostKey) throw new Error('there are some');
    const lines = await describeCertificate((await certify(authority, hostKey)).certificate);
    expect(lines).toContain('Principals: (none)');
  });
});
