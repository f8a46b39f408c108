/** Options of calls. */
import type { IdempotencyPlace } from '../resources/definition/idempotency.ts';

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Makes the create safe to repeat: the same key gives the same resource. */
  idempotencyKey?: string | undefined;
  /** Only with a key. A scope groups creates, so that all its resources can be found and the scope closed. */
  idempotencyPlace?: IdempotencyPlace | undefined;
}

export interface ChangeOptions extends CallOptions {
  /**
   * An ETag (`etagOf`). The call fails with PRECONDITION_FAILED if the resource has changed since. Such a call is not
   * retried after a lost response: its own first change would make the retry fail.
   */
  ifMatch?: string | undefined;
}
