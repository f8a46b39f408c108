/** SSH host certificates: a host's public key, signed by an SSH certificate authority. */
import { z } from 'zod';
import { idOf } from './definition/id.ts';
import { orNone } from './definition/none.ts';
import { derived, described, field, required, resource } from './definition/resource.ts';
import { CHANGED, DESCRIBED } from './definition/samples.ts';
import { principals } from './formats/ssh-principal.ts';
import { sshKeyType, sshPublicKey } from './formats/ssh-public-key.ts';
import { second, shownSecond, showSecond } from './formats/text.ts';
import { sshCertificateAuthority } from './ssh-certificate-authority.ts';

/** SSH certificates count seconds since 1970. */
const sshTime = second().refine((value) => Date.parse(value) >= 0, 'must not be before 1970, when SSH time begins');

const PUBLIC_KEY = {
  examples: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFWZRGX/Vo6hXNXeSwNYyEOzmVz/4PmjvCNMJ/R6NYEU root@web-1'],
};
const AUTHORITY = { description: 'SSH certificate authority that signs the certificate.' };
const PRINCIPALS = {
  description:
    'Host names and IP addresses that the certificate is valid for. Empty: valid for all hosts, but clients with OpenSSH 10.3 or later accept such a certificate for none. `*` stands for any characters and `?` for one; earlier clients take them literally.',
  examples: [['web-1.example.com', '192.0.2.1']],
};
const FROM = {
  description: 'When the certificate becomes valid. Defaults to now.',
  examples: ['2026-11-21T10:00:00Z'],
};
const UNTIL = {
  description:
    'When the certificate expires. Defaults to a year after it becomes valid, or after now if that is later.',
  examples: ['2027-11-21T10:00:00Z'],
};

export const sshHostCertificate = resource({
  name: 'ssh_host_certificate',
  title: 'SSHHostCertificate',
  prefix: 'shcrt',
  path: '/ssh_host_certificates',
  collection: 'ssh_host_certificates',
  tag: 'SSH certificates',
  description: 'A certificate that identifies a host to SSH clients that trust its authority.',
  fields: {
    ...described('Which host the certificate is for.'),
    public_key: field(
      z.string().meta({ description: 'Public key of the host, byte for byte as it was sent.', ...PUBLIC_KEY }),
      sshPublicKey.meta({
        description: 'Public key of the host, as in its .pub file: ed25519, ecdsa, or rsa with at least 2048 bits.',
        ...PUBLIC_KEY,
      }),
      'required',
      false,
      null,
    ),
    key_type: derived(sshKeyType.meta({ description: 'Type of the public key.', examples: ['ed25519'] })),
    ssh_certificate_authority_id: {
      ...required(idOf(sshCertificateAuthority.prefix).meta(AUTHORITY), { update: false }),
      refersTo: [sshCertificateAuthority],
    },
    principals: {
      ...field(z.array(z.string()).meta(PRINCIPALS), z.nullable(principals.meta(PRINCIPALS)), 'optional', false, []),
      filterable: 'element',
    },
    valid_after: {
      ...field(shownSecond().meta(FROM), orNone(sshTime).meta(FROM), 'optional', false, null),
      show: showSecond,
      chosen: true,
    },
    valid_until: {
      ...field(shownSecond().meta(UNTIL), orNone(sshTime).meta(UNTIL), 'optional', false, null),
      show: showSecond,
      chosen: true,
    },
    certificate: derived(
      z.string().meta({
        description: 'The signed certificate, for the file that HostCertificate in sshd_config names.',
        examples: ['ssh-ed25519-cert-v01@openssh.com AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAx…'],
      }),
    ),
  },
  samples: {
    least: { ssh_certificate_authority_id: '{ssh_certificate_authority.id}', public_key: '{ssh.ed25519}' },
    full: {
      ...DESCRIBED,
      ssh_certificate_authority_id: '{ssh_certificate_authority.id}',
      public_key: '{ssh.ed25519}',
      principals: ['web-{n}.example.com'],
      valid_after: '2026-11-21T10:00:00Z',
      valid_until: '2099-11-21T10:00:00Z',
    },
    change: CHANGED,
  },
});
