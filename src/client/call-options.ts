/** Options of calls. */
import type { IdempotencyPlace } from '../resources/definition/idempotency.ts';
import type { Manager } from '../resources/definition/manager.ts';

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface WriteOptions extends CallOptions {
  /**
   * The object in whose name the call is made, which is recorded as the manager of the resource. The call fails with
   * CONFLICT if another one is.
   */
  manager?: Manager | undefined;
}

export interface CreateOptions extends WriteOptions {
  /** Makes the create safe to repeat: the same key gives the same resource. */
  idempotencyKey?: string | undefined;
  /** Only with a key. A scope groups creates, so that all its resources can be found and the scope closed. */
  idempotencyPlace?: IdempotencyPlace | undefined;
}

export interface ChangeOptions extends WriteOptions {
  /**
   * An ETag (`etagOf`). The call fails with PRECONDITION_FAILED if the resource has changed since. Such a call is not
   * retried after a lost response: its own first change would make the retry fail.
   */
  ifMatch?: string | undefined;
}

export interface ClaimOptions extends WriteOptions {
  /** The id of the current manager, if it is to lose the resource. */
  takeOverFrom?: string | undefined;
}
