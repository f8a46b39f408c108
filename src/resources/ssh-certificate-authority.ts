/** SSH certificate authorities (extension): key pairs that sign SSH host certificates; the private half stays here. */
import { z } from 'zod';
import { orNone } from './definition/none.ts';
import { derived, described, field, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { ellipticCurve, sshKeyType } from './formats/ssh-public-key.ts';

/** RSA keys are made with this many bits. */
export const RSA_BITS = 4096;
export const DEFAULT_KEY_TYPE = 'ed25519';
export const DEFAULT_CURVE = 'nistp256';

const keyTypeAsked = sshKeyType.meta({
  description: `Type of the key to generate: ed25519 (the default), ecdsa, or rsa with ${RSA_BITS} bits.`,
  examples: ['ecdsa'],
});
const CURVE = { description: `Curve of an ecdsa key, ${DEFAULT_CURVE} by default; null for other key types.` };

export const sshCertificateAuthority = resource({
  name: 'ssh_certificate_authority',
  title: 'SSHCertificateAuthority',
  prefix: 'sshca',
  path: '/ssh_certificate_authorities',
  collection: 'ssh_certificate_authorities',
  tag: 'SSH certificates',
  extension: true,
  description: 'A key pair that signs SSH host certificates. The service generates it and never shows the private key.',
  fields: {
    ...described('Whose hosts it signs for.'),
    private_key_type: field(keyTypeAsked, orNone(keyTypeAsked), 'optional', false, DEFAULT_KEY_TYPE),
    elliptic_curve: {
      ...field(ellipticCurve.nullable().meta(CURVE), orNone(ellipticCurve).meta(CURVE), 'optional', false, null),
      chosen: true,
    },
    public_key: derived(
      z.string().meta({
        description: 'For a `@cert-authority` line of a known_hosts file.',
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
