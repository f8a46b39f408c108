/** Idempotent creates (extension): what a client may ask about the keys and scopes that it used. */
import { z } from 'zod';
import { sha256Hex } from '../formats/sha256.ts';
import { text } from '../formats/text.ts';
import { ref } from './resource.ts';

export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key';
export const IDEMPOTENCY_SCOPE_HEADER = 'idempotency-scope';
export const IDEMPOTENCY_SEQUENCE_HEADER = 'idempotency-sequence';
export const IDEMPOTENCY_REPLAYED_HEADER = 'idempotency-replayed';

/** 1 to 255 printable ASCII characters: it travels in a header. */
export const idempotencyKey = text().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters');

/** What the creates of a scope have in common. Its name travels in a header, too. */
export const idempotencyScopeName = idempotencyKey;

const SEQUENCE_RULE = 'must be a whole number from 1 to 999999999';

export const idempotencySequence = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, SEQUENCE_RULE)
  .transform(Number);

/** The place of a create among those of its scope. */
export interface IdempotencyPlace {
  /** Name of the scope. */
  scope: string;
  /** From 1; each create has the number after that of the one before it. */
  sequence: number;
}

/** How a key or the name of a scope appears in a path: a key takes part in sealing tokens, so it must not show in access logs. */
export function idempotencyDigest(key: string): string {
  return sha256Hex(key);
}

export const idempotencyDigestSchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key in lower-case hex');

export const idempotencyScopeDigestSchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of the scope's name in lower-case hex");

/**
 * Answer of `PUT /idempotency_keys/{digest}/closed`: from now on no create under that key takes effect, also not one
 * that is still on its way; `resource` is what was created under it and still exists.
 */
export const closedIdempotencyKey = z
  .object({ closed: z.literal(true), resource: ref.nullable() })
  .meta({ id: 'ClosedIdempotencyKey' });

/** What is known of a scope. */
export const idempotencyScope = z
  .object({
    next_sequence: z
      .int()
      .min(1)
      .meta({ description: 'The sequence number that the next create must have.', examples: [3] }),
    resources: z
      .array(
        z.object({
          id: z.string(),
          uri: z.url(),
          sequence: z
            .int()
            .min(1)
            .meta({ description: 'The sequence number that it was created with.', examples: [2] }),
        }),
      )
      .meta({ description: 'What was created in the scope and still exists, newest first.' }),
  })
  .meta({ id: 'IdempotencyScope' });
