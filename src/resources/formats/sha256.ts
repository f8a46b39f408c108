/** SHA-256, the one digest used for tokens, keys and fingerprints. */
import { createHash } from 'node:crypto';

export function sha256Hex(value: string | Buffer): string {
  return createHash('sha256').update(value).digest('hex');
}
