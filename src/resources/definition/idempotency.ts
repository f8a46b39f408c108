/** Idempotent creates (extension): what a client may ask about a key that it used. */
import { z } from 'zod';
import { sha256Hex } from '../formats/sha256.ts';
import { text } from '../formats/text.ts';
import { ref } from './resource.ts';

export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key';
export const IDEMPOTENCY_REPLAYED_HEADER = 'idempotency-replayed';

/** 1 to 255 printable ASCII characters: it travels in a header. */
export const idempotencyKey = text().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters');

/** How a key appears in a path: a key takes part in sealing tokens, so it must not show in access logs. */
export function idempotencyDigest(key: string): string {
  return sha256Hex(key);
}

export const idempotencyDigestSchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key in lower-case hex');

/**
 * Answer of `PUT /idempotency_keys/{digest}/closed`: from now on no create under that key takes effect, also not one
 * that is still on its way; `resource` is what was created under it and still exists.
 */
export const closedIdempotencyKey = z
  .object({ closed: z.literal(true), resource: ref.nullable() })
  .meta({ id: 'ClosedIdempotencyKey' });
