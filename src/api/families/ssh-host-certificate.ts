/** SSH certificate authorities, whose keys are made and kept here, and the host certificates that they sign. */
import { createPrivateKey, type KeyObject, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { parseSshPublicKey } from '../../resources/formats/ssh-public-key.ts';
import { DEFAULT_CURVE, DEFAULT_KEY_TYPE, sshCertificateAuthority } from '../../resources/ssh-certificate-authority.ts';
import { sshHostCertificate } from '../../resources/ssh-host-certificate.ts';
import { mount } from '../crud/mount.ts';
import { invalidRequest } from '../errors/errors.ts';
import type { Api } from '../http/operation.ts';
import { signHostCertificate } from '../ssh/certificate.ts';
import { generatePrivateKey, lineOf, sshPublicOf } from '../ssh/keys.ts';
import { validityOf } from '../ssh/validity.ts';

/** The column of the sealed private key, as PKCS #8 in PEM. */
export const SSH_PRIVATE_KEY = { table: sshCertificateAuthority.table, column: 'private_key' };

const placeOf = (id: string) => ({ table: SSH_PRIVATE_KEY.table, id, field: SSH_PRIVATE_KEY.column });

export function sshCertificates(api: Api): void {
  mount(api, sshCertificateAuthority, {
    columns: [SSH_PRIVATE_KEY.column],
    async prepare({ private_key_type, elliptic_curve }, id) {
      const type = private_key_type ?? DEFAULT_KEY_TYPE;
      if (type !== 'ecdsa' && elliptic_curve != null) {
        throw invalidRequest({ '/elliptic_curve': `is for private_key_type ecdsa, not for ${type}` });
      }
      const curve = type === 'ecdsa' ? (elliptic_curve ?? DEFAULT_CURVE) : null;
      // Before the key is made: without an encryption key, nothing is made in vain.
      api.secrets.seal('', placeOf(id));
      const key = await generatePrivateKey(type, curve);
      const { algorithm, blob } = sshPublicOf(key);
      const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
      return {
        fields: { private_key_type: type, elliptic_curve: curve, public_key: lineOf(algorithm, blob), key_type: type },
        columns: { [SSH_PRIVATE_KEY.column]: api.secrets.seal(pem, placeOf(id)) },
      };
    },
  });

  mount(api, sshHostCertificate, {
    columns: ['serial'],
    async prepare(input, id) {
      const validity = validityOf(input, Date.now());
      if ('reason' in validity) throw invalidRequest({ '/valid_until': validity.reason });
      const { valid_after, valid_until } = validity;
      const parsed = parseSshPublicKey(input.public_key);
      if ('reason' in parsed) throw invalidRequest({ '/public_key': parsed.reason });
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
}

const sealed = z.object({ private_key: z.string() });

async function signingKey(api: Api, id: string): Promise<KeyObject> {
  const { table, column } = SSH_PRIVATE_KEY;
  const text = `select ${column} from ${table} where id = $1`;
  const [row] = await api.db.query({ name: `${table}.signing_key`, text, values: [id] });
  if (!row) throw invalidRequest({ '/ssh_certificate_authority_id': `there is no SSH certificate authority ${id}` });
  return createPrivateKey(api.secrets.open(sealed.parse(row).private_key, placeOf(id)));
}

/** Above zero, which OpenSSH takes for "no serial number", and within a signed column. */
function randomSerial(): bigint {
  return (randomBytes(8).readBigUInt64BE() >> 1n) | 1n;
}

const secondsOf = (time: string) => BigInt(Date.parse(time) / 1000);
