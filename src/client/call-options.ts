/** What a caller may pass besides the body. */
import type { IdempotencyPlace } from '../resources/definition/idempotency.ts';

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Makes the create safe to repeat: same key, same resource. */
  idempotencyKey?: string | undefined;
  /** With a key: makes it possible to find, and to close, everything that was created in one scope. */
  idempotencyPlace?: IdempotencyPlace | undefined;
}

export interface ChangeOptions extends CallOptions {
  /**
   * An ETag (`etagOf`); the call fails with PRECONDITION_FAILED when the resource has changed since. It is not repeated
   * after an answer that got lost: its own change would then look like somebody else's.
   */
  ifMatch?: string | undefined;
}
