import { sshCertificateAuthority } from '../../../src/resources/ssh-certificate-authority.ts';
import { created, get, invalid, ok, post, type Row, type Section } from '../row.ts';

const path = '/ssh_certificate_authorities';

const makes = (rule: string, sent: object, shown: object): Row => ({
  rule,
  ask: post(path, sent),
  answer: created(shown),
});
const wrong = (rule: string, sent: object, details: Record<string, RegExp | string>): Row => ({
  rule,
  ask: post(path, sent),
  answer: invalid(details),
});

const ecdsa = (curve: string) => ({
  private_key_type: 'ecdsa',
  key_type: 'ecdsa',
  elliptic_curve: curve,
  public_key: new RegExp(`^ecdsa-sha2-${curve} [A-Za-z0-9+/]+={0,2}$`),
});

const keys: Row[] = [
  makes(
    'The service generates the key pair of an SSH certificate authority, Ed25519 by default',
    {},
    {
      private_key_type: 'ed25519',
      key_type: 'ed25519',
      elliptic_curve: null,
      public_key: /^ssh-ed25519 [A-Za-z0-9+/]+={0,2}$/,
    },
  ),
  makes('The type of key may be ed25519', { private_key_type: 'ed25519' }, { key_type: 'ed25519' }),
  makes('The type of key may be ecdsa, on nistp256 by default', { private_key_type: 'ecdsa' }, ecdsa('nistp256')),
  ...['nistp256', 'nistp384', 'nistp521'].map((curve) =>
    makes(`An ECDSA key may be on ${curve}`, { private_key_type: 'ecdsa', elliptic_curve: curve }, ecdsa(curve)),
  ),
  makes(
    'The type of key may be rsa, with 4096 bits',
    { private_key_type: 'rsa' },
    // 512 bytes and their framing, in base64.
    { private_key_type: 'rsa', key_type: 'rsa', elliptic_curve: null, public_key: /^ssh-rsa [A-Za-z0-9+/]{714}==$/ },
  ),
  wrong('Other types of keys are refused', { private_key_type: 'dsa' }, { '/private_key_type': /ed25519/ }),
  wrong(
    'Other curves are refused',
    { private_key_type: 'ecdsa', elliptic_curve: 'secp256k1' },
    { '/elliptic_curve': /nistp256/ },
  ),
  wrong('Only an ECDSA key has a curve', { elliptic_curve: 'nistp256' }, { '/elliptic_curve': /ecdsa/ }),
];

export const sshCertificateAuthorities: Section = {
  title: 'Extension: SSH certificate authorities',
  family: sshCertificateAuthority,
  rows: [
    ...keys,
    {
      rule: 'No response contains the private key of an SSH certificate authority',
      given: { made: post(path, {}) },
      ask: get(`${path}/{made.id}`),
      answer: ok({ public_key: '{made.public_key}', private_key: undefined, private_key_pem: undefined }),
    },
    ...['ecdsa', 'rsa'].map(
      (type): Row => ({
        rule: `An authority with a key of type ${type} signs keys of other types`,
        given: { authority: post(path, { private_key_type: type }) },
        ask: post('/ssh_host_certificates', {
          ssh_certificate_authority_id: '{authority.id}',
          public_key: '{ssh.ed25519}',
        }),
        answer: created({ key_type: 'ed25519', certificate: /^ssh-ed25519-cert-v01@openssh\.com / }),
      }),
    ),
  ],
};
