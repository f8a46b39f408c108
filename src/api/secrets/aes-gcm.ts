/** AES-256-GCM over text. The bytes are iv, tag, ciphertext. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
/** The 96 bits that NIST SP 800-38D recommends. */
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** @param boundTo authenticated with the text and not part of the result: `decrypt` must be given the same */
export function encrypt(text: string, key: Buffer, boundTo: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(boundTo));
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]);
}

/** @throws Error when the bytes were changed, or encrypted under another key or bound to something else */
export function decrypt(bytes: Buffer, key: Buffer, boundTo: string): string {
  const iv = bytes.subarray(0, IV_BYTES);
  const tag = bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES);
  // The length is given, since Node otherwise accepts a tag of four bytes.
  const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(tag);
  return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
}
