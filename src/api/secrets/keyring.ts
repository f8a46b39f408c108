/** The keys under which secrets are sealed, from the setting ENCRYPTION_KEY. */
import { z } from 'zod';
import { sha256Hex } from '../../resources/formats/sha256.ts';

export const KEY_BYTES = 32;

export interface EncryptionKey {
  /** Stored beside everything that is sealed under the key, so that it can be found again. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** The encryption key is missing or wrong; the message tells the user what to set. */
export class BadEncryptionKey extends Error {
  override readonly name = 'BadEncryptionKey';
}

/** At least one key: the first one seals, any of them opens. */
export type Keyring = readonly [EncryptionKey, ...EncryptionKey[]];

/** Part of an envelope, so without the dot that separates its parts. */
const KEY_ID = /^[A-Za-z0-9_-]{1,32}$/;
const BASE64 = /^[A-Za-z0-9+/]{43}=$/;

/** Parses a keyring, or says why it is invalid; the reason never contains a key. */
export function parseKeyring(text: string): { keys: Keyring } | { reason: string } {
  const keys: EncryptionKey[] = [];
  for (const [index, part] of text.split(',').entries()) {
    const key = parseKey(part.trim());
    const name = `key ${index + 1}`;
    if (typeof key === 'string') return { reason: `${name} ${key}` };
    if (keys.some(({ id }) => id === key.id)) return { reason: `${name} repeats the id "${key.id}"` };
    keys.push(key);
  }
  const [first, ...others] = keys;
  return first ? { keys: [first, ...others] } : { reason: 'has no key' };
}

function parseKey(part: string): EncryptionKey | string {
  const colon = part.indexOf(':');
  const encoded = part.slice(colon + 1);
  if (!BASE64.test(encoded)) {
    return `must be ${KEY_BYTES} bytes in base64, as printed by "openssl rand -base64 ${KEY_BYTES}", optionally with "id:" before it`;
  }
  const bytes = Buffer.from(encoded, 'base64');
  if (colon === -1) return { id: derivedId(encoded), bytes };
  const id = part.slice(0, colon);
  return KEY_ID.test(id) ? { id, bytes } : 'has an id that is not 1 to 32 letters, digits, - and _';
}

/** The id of a key that was given without one; it does not depend on the position in the list. */
function derivedId(encoded: string): string {
  return `k${sha256Hex(`tunnel-operator encryption key ${encoded}`).slice(0, 12)}`;
}

/** ENCRYPTION_KEY from its text. */
export const keyring = z.string().transform((text, context) => {
  const parsed = parseKeyring(text);
  if ('keys' in parsed) return parsed.keys;
  context.addIssue({ code: 'custom', message: parsed.reason });
  return z.NEVER;
});
