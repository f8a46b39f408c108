/** SSH certificate authorities: the service generates their keys and keeps them sealed. */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { DEFAULT_CURVE, DEFAULT_KEY_TYPE, sshCertificateAuthority } from '../../resources/ssh-certificate-authority.ts';
import { mount } from '../crud/mount.ts';
import { invalidByRule, invalidRequest } from '../errors/errors.ts';
import { createSemaphores } from '../guard/pool-shares.ts';
import type { Api } from '../http/operation.ts';
import { generatePrivateKey, lineOf, sshPublicOf } from '../ssh/keys.ts';
import { ofThisAccount } from '../store/account-scope.ts';

/** The column of the private key, as PKCS #8 in PEM. */
const PRIVATE_KEY = 'private_key';

const { table } = sshCertificateAuthority;
/** Each owner generates one key at a time: an RSA key takes long, and only a few are generated at once. */
const generations = createSemaphores(1);
const locationOf = (id: string) => ({ table, id, field: PRIVATE_KEY });

export const sshCertificateAuthorities = mount(sshCertificateAuthority, {
  aboutCreate: 'Generates a key pair.',
  columns: [PRIVATE_KEY],
  sealed: [PRIVATE_KEY],
  async prepare({ private_key_type, elliptic_curve }, id, { secrets }, { caller, withoutPermit }) {
    const type = private_key_type ?? DEFAULT_KEY_TYPE;
    if (type !== 'ecdsa' && elliptic_curve != null) {
      throw invalidByRule({ '/elliptic_curve': `applies only to private_key_type ecdsa, not to ${type}` });
    }
    const curve = type === 'ecdsa' ? (elliptic_curve ?? DEFAULT_CURVE) : null;
    // Fails early without an encryption key, before a key pair is generated.
    secrets.seal('', locationOf(id));
    const key = await withoutPermit(async (throwIfAborted) => {
      const release = await generations.acquire(caller.id);
      try {
        throwIfAborted();
        return await generatePrivateKey(type, curve);
      } finally {
        release();
      }
    });
    const { algorithm, blob } = sshPublicOf(key);
    const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString();
    return {
      fields: { private_key_type: type, elliptic_curve: curve, public_key: lineOf(algorithm, blob), key_type: type },
      columns: { [PRIVATE_KEY]: secrets.seal(pem, locationOf(id)) },
    };
  },
});

const sealed = z.object({ private_key: z.string() });

/** The private key of an authority. @throws INVALID_REQUEST if it does not exist */
export async function signingKey({ db, secrets }: Api, id: string): Promise<KeyObject> {
  const text = `select ${PRIVATE_KEY} from ${table} where id = $1 and ${ofThisAccount()}`;
  const [row] = await db.query({ name: `${table}.signing_key`, text, values: [id] });
  if (!row) {
    const at = '/ssh_certificate_authority_id';
    throw invalidRequest({ [at]: `SSH certificate authority ${id} does not exist` }, { [at]: 'does not exist' });
  }
  return createPrivateKey(secrets.open(sealed.parse(row).private_key, locationOf(id)));
}
