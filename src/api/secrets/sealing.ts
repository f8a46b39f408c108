/**
 * Secrets at rest: private keys, client secrets. AES-256-GCM; the envelope names its key, so that keys can be changed.
 *
 *     v1.<key id>.<base64url of iv, tag and ciphertext>
 *
 * Where a secret belongs is bound in: an envelope that is moved to another row, column or table does not open.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { unavailable } from '../errors/errors.ts';
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
  /** Throws UNAVAILABLE when the service has not the key, Error when the envelope was not sealed for this place. */
  open(sealed: string, place: Place): string;
}

const VERSION = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Seals under the first key, opens under any. Without keys, whatever needs one is unavailable. */
export function createSecrets(keys: Keyring | undefined): Secrets {
  if (!keys) return { seal: noKey, open: noKey };
  const byId = new Map(keys.map((key) => [key.id, key.bytes]));
  const [first] = keys;
  return {
    seal(secret, place) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', first.bytes, iv).setAAD(boundTo(place, first.id));
      const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      const body = Buffer.concat([iv, cipher.getAuthTag(), ciphertext]).toString('base64url');
      return `${VERSION}.${first.id}.${body}`;
    },
    open(sealed, place) {
      const [version, id = '', encoded = ''] = sealed.split('.');
      if (version !== VERSION) throw new Error(`${at(place)} is in a form that this release does not read`);
      const key = byId.get(id);
      if (!key) throw unavailable(`A secret is sealed under the encryption key "${id}", which this server has not.`);
      const bytes = Buffer.from(encoded, 'base64url');
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(boundTo(place, id))
          .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
        return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch (cause) {
        throw new Error(`${at(place)} was changed, or sealed for another place or under another key`, { cause });
      }
    },
  };
}

function noKey(): never {
  throw unavailable('This server has no encryption key, without which it keeps no secrets; set ENCRYPTION_KEY.');
}

/** An array in JSON is unambiguous, whatever its members contain. */
function boundTo({ table, id, field }: Place, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([VERSION, keyId, table, id, field]));
}

const at = ({ table, id, field }: Place) => `the sealed ${field} of ${table} ${id}`;
