/**
 * undici (at least up to 8.13.1) loses track of an HTTP/2 stream whose request is aborted in the turn of the event loop
 * that sends it. When the connection ends, the error of the stream has no listener and ends the process. An abort in a
 * later turn is safe.
 */
export interface DeferredAbort {
  /** Aborted, for the same reason, one turn after the given one. */
  readonly signal: AbortSignal;
  /** Call this when nothing is left to abort. */
  end(): void;
}

/** @throws the reason of `given` if it is aborted already */
export function deferredAbort(given: AbortSignal): DeferredAbort {
  given.throwIfAborted();
  const deferred = new AbortController();
  const defer = () => void setImmediate(() => deferred.abort(given.reason));
  given.addEventListener('abort', defer, { once: true });
  return { signal: deferred.signal, end: () => given.removeEventListener('abort', defer) };
}
