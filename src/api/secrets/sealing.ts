/**
 * Secrets at rest: private keys, client secrets. The envelope names its key, so that keys can be changed.
 *
 *     v1.<key id>.<base64url of what aes-gcm.ts makes>
 *
 * Where a secret belongs is bound in: an envelope that is moved to another row, column or table does not open.
 */
import { unavailable } from '../errors/errors.ts';
import { decrypt, encrypt } from './aes-gcm.ts';
import type { Keyring } from './keyring.ts';

/** Where a sealed secret is stored: the table, the id of the row, and what of the row it is. */
export interface Place {
  table: string;
  id: string;
  field: string;
}

export interface Secrets {
  /** Throws UNAVAILABLE when the service has no key. */
  seal(secret: string, place: Place): string;
  /** Throws UNAVAILABLE when the server lacks the key, Error when the envelope was not sealed for this place. */
  open(sealed: string, place: Place): string;
}

const VERSION = 'v1';

/** Seals under the first key, opens under any. Without keys, whatever needs one is unavailable. */
export function createSecrets(keys: Keyring | undefined): Secrets {
  if (!keys) return { seal: noKey, open: noKey };
  const byId = new Map(keys.map((key) => [key.id, key.bytes]));
  const [first] = keys;
  return {
    seal(secret, place) {
      const body = encrypt(secret, first.bytes, boundTo(place, first.id));
      return `${VERSION}.${first.id}.${body.toString('base64url')}`;
    },
    open(sealed, place) {
      const [version, id = '', encoded = ''] = sealed.split('.');
      if (version !== VERSION) throw new Error(`${at(place)} has a format that this release cannot read`);
      const key = byId.get(id);
      if (!key) throw unavailable(`A secret is sealed under the encryption key "${id}", which this server lacks.`);
      try {
        return decrypt(Buffer.from(encoded, 'base64url'), key, boundTo(place, id));
      } catch (cause) {
        throw new Error(`${at(place)} was changed, or sealed for another place or under another key`, { cause });
      }
    },
  };
}

function noKey(): never {
  throw unavailable('This server has no encryption key, so it cannot store secrets; set ENCRYPTION_KEY.');
}

/** An array in JSON is unambiguous, whatever its members contain. */
function boundTo({ table, id, field }: Place, keyId: string): string {
  return JSON.stringify([VERSION, keyId, table, id, field]);
}

const at = ({ table, id, field }: Place) => `the sealed ${field} of ${table} ${id}`;
