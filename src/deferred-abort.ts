/**
 * undici, up to 8.13.1 at least, loses sight of a stream of HTTP/2 whose request is aborted in the turn of the event loop
 * in which it is sent: when the connection ends, the stream fails, nobody listens, and that ends the process. In a later
 * turn it does not.
 */
export interface DeferredAbort {
  /** Aborted, for the same reason, one turn after the given one. */
  readonly signal: AbortSignal;
  /** To be called when nothing is left to abort. */
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
