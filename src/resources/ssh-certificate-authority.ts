/** SSH certificate authorities (extension): key pairs that sign SSH host certificates. The service keeps the private key. */
import { z } from 'zod';
import { orNone } from './definition/none.ts';
import { derived, described, field, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { ellipticCurve, sshKeyType } from './formats/ssh-public-key.ts';

/** Bits of a generated RSA key. */
export const RSA_BITS = 4096;
export const DEFAULT_KEY_TYPE = 'ed25519';
export const DEFAULT_CURVE = 'nistp256';

const keyTypeAsked = sshKeyType.meta({
  description: `Type of the private key: ed25519 (the default), ecdsa, or rsa with ${RSA_BITS} bits.`,
  examples: ['ecdsa'],
});
const CURVE = { description: `Curve of an ecdsa key. Default ${DEFAULT_CURVE}. Other types of keys have none.` };

export const sshCertificateAuthority = resource({
  name: 'ssh_certificate_authority',
  title: 'SSHCertificateAuthority',
  prefix: 'sshca',
  path: '/ssh_certificate_authorities',
  collection: 'ssh_certificate_authorities',
  tag: 'SSH certificates',
  extension: true,
  description:
    'A key pair that signs SSH host certificates. The service generates it and never reveals the private key.',
  fields: {
    ...described('Which hosts the authority signs certificates for.'),
    private_key_type: field(keyTypeAsked, orNone(keyTypeAsked), 'optional', false, DEFAULT_KEY_TYPE),
    elliptic_curve: {
      ...field(ellipticCurve.nullable().meta(CURVE), orNone(ellipticCurve).meta(CURVE), 'optional', false, null),
      chosen: true,
    },
    public_key: derived(
      z.string().meta({
        description: 'Public key of the authority, for a `@cert-authority` line in a known_hosts file.',
        examples: ['ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY…'],
      }),
    ),
    key_type: derived(sshKeyType.meta({ description: 'Type of the public key.', examples: ['ecdsa'] })),
  },
  samples: {
    least: {},
    full: { ...DESCRIBED, private_key_type: 'ecdsa', elliptic_curve: 'nistp384' },
    change: CHANGED,
  },
});
