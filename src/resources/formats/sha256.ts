/** SHA-256, the one digest used for tokens, keys and fingerprints. */
import { createHash } from 'node:crypto';

export function sha256Hex(value: string): string {
  return createHash('sha256').update(value, 'utf8').digest('hex');
}
