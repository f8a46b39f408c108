/** SSH host certificates, signed by SSH certificate authorities of the service. */
import { randomBytes } from 'node:crypto';
import { parseSshPublicKey } from '../../resources/formats/ssh-public-key.ts';
import { sshHostCertificate } from '../../resources/ssh-host-certificate.ts';
import { mount } from '../crud/mount.ts';
import { refused } from '../errors/errors.ts';
import { signHostCertificate } from '../ssh/certificate.ts';
import { validityOf } from '../ssh/validity.ts';
import { signingKey } from './ssh-certificate-authority.ts';

export const sshHostCertificates = mount(sshHostCertificate, {
  aboutCreate: 'Signs the public key.',
  aboutDelete: 'Does not revoke the certificate: SSH clients accept it until it expires.',
  columns: ['serial'],
  async prepare(input, id, api) {
    const validity = validityOf(input, Date.now());
    if ('reason' in validity) throw refused({ '/valid_until': validity });
    const { valid_after, valid_until } = validity;
    const parsed = parseSshPublicKey(input.public_key);
    if ('reason' in parsed) throw refused({ '/public_key': parsed });
    const authority = await signingKey(api, input.ssh_certificate_authority_id);
    const serial = randomSerial();
    const certificate = await signHostCertificate(
      {
        subject: parsed.key,
        serial,
        keyId: id,
        principals: input.principals ?? [],
        validAfter: secondsOf(valid_after),
        validBefore: secondsOf(valid_until),
      },
      authority,
    );
    return {
      fields: { key_type: parsed.key.keyType, valid_after, valid_until, certificate },
      columns: { serial: String(serial) },
    };
  },
});

/** Positive, since OpenSSH takes 0 for "no serial number", and small enough for a signed column. */
function randomSerial(): bigint {
  return (randomBytes(8).readBigUInt64BE() >> 1n) | 1n;
}

const secondsOf = (time: string) => BigInt(Date.parse(time) / 1000);
