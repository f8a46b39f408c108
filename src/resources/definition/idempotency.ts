/** Idempotent creates (extension): their headers, and what a client can ask about its keys and scopes. */
import { z } from 'zod';
import { sha256Hex } from '../formats/sha256.ts';
import { text } from '../formats/text.ts';
import { ref } from './resource.ts';

export const IDEMPOTENCY_KEY_HEADER = 'idempotency-key';
export const IDEMPOTENCY_SCOPE_HEADER = 'idempotency-scope';
export const IDEMPOTENCY_SEQUENCE_HEADER = 'idempotency-sequence';
export const IDEMPOTENCY_REPLAYED_HEADER = 'idempotency-replayed';

/** A header value, so printable ASCII only. */
export const idempotencyKey = text().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters');

/** The name of a scope, which groups creates. Also a header value. */
export const idempotencyScopeName = idempotencyKey;

export const LARGEST_SEQUENCE = 999_999_999;

export const idempotencySequence = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, `must be a whole number from 1 to ${LARGEST_SEQUENCE}`)
  .transform(Number);

/** The place of a create among those of its scope. */
export interface IdempotencyPlace {
  /** Name of the scope. */
  scope: string;
  /** Counts the creates of the scope, from 1. */
  sequence: number;
}

/** A key or the name of a scope as it appears in a path. Keys help to seal tokens, so they must not be in access logs. */
export function idempotencyDigest(key: string): string {
  return sha256Hex(key);
}

export const idempotencyDigestSchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be the SHA-256 of the key in lower-case hex');

export const idempotencyScopeDigestSchema = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be the SHA-256 of the scope's name in lower-case hex");

/** Response of `PUT /idempotency_keys/{digest}/closed`. A resource that has been deleted since is not named. */
export const closedIdempotencyKey = z
  .object({
    closed: z.literal(true).meta({ description: 'Always true.' }),
    resource: ref.nullable().meta({ description: 'The resource created under the key; null if there is none.' }),
  })
  .meta({ id: 'ClosedIdempotencyKey' });

/** A scope and the resources created in it. */
export const idempotencyScope = z
  .object({
    next_sequence: z
      .int()
      .min(1)
      .meta({ description: 'The sequence number for the next create in the scope.', examples: [3] }),
    resources: z
      .array(
        z.object({
          id: z.string().meta({ description: 'Id of the resource.' }),
          uri: z.url().meta({ description: 'Address of the resource.' }),
          sequence: z
            .int()
            .min(1)
            .meta({ description: 'The sequence number under which it was created.', examples: [2] }),
        }),
      )
      .meta({ description: 'The resources created in the scope that still exist, newest first.' }),
  })
  .meta({ id: 'IdempotencyScope' });
