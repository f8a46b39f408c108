/**
 * Secrets at rest: private keys, client secrets. The envelope names its key, so that keys can be rotated.
 *
 *     v1.<key id>.<base64url of the output of aes-gcm.ts>
 *
 * The location of a secret is authenticated: an envelope that is moved to another row, column or table cannot be opened.
 */
import { unavailable } from '../errors/errors.ts';
import { decrypt, encrypt } from './aes-gcm.ts';
import type { Keyring } from './keyring.ts';

/** Where a sealed secret is stored: table, row and column. */
export interface SecretLocation {
  table: string;
  id: string;
  field: string;
}

export interface Secrets {
  /** Throws UNAVAILABLE when the server has no key. */
  seal(secret: string, location: SecretLocation): string;
  /** Throws UNAVAILABLE when the server lacks the key, Error when the envelope was not sealed for this location. */
  open(sealed: string, location: SecretLocation): string;
}

const VERSION = 'v1';

/** Seals with the first key, opens with any. Without keys, both throw UNAVAILABLE. */
export function createSecrets(keys: Keyring | undefined): Secrets {
  if (!keys) return { seal: noKey, open: noKey };
  const byId = new Map(keys.map((key) => [key.id, key.bytes]));
  const [first] = keys;
  return {
    seal(secret, location) {
      const body = encrypt(secret, first.bytes, boundTo(location, first.id));
      return `${VERSION}.${first.id}.${body.toString('base64url')}`;
    },
    open(sealed, location) {
      const [version, id = '', encoded = ''] = sealed.split('.');
      if (version !== VERSION) throw new Error(`${at(location)} has a format that this release cannot read`);
      const key = byId.get(id);
      if (!key) throw unavailable(`A secret is sealed under the encryption key "${id}", which this server lacks.`);
      try {
        return decrypt(Buffer.from(encoded, 'base64url'), key, boundTo(location, id));
      } catch (cause) {
        throw new Error(`${at(location)} was changed, or sealed for another location or under another key`, { cause });
      }
    },
  };
}

function noKey(): never {
  throw unavailable('This server has no encryption key, so it cannot store secrets; set ENCRYPTION_KEY.');
}

/** An array in JSON is unambiguous, whatever its members contain. */
function boundTo({ table, id, field }: SecretLocation, keyId: string): string {
  return JSON.stringify([VERSION, keyId, table, id, field]);
}

const at = ({ table, id, field }: SecretLocation) => `the sealed ${field} of ${table} ${id}`;
