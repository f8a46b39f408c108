/**
 * A request and its whole response, for both clients. undici's `request` makes a stream for each response, which takes a
 * third more processor time (docs/decisions/0002).
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export interface HttpResponse {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** UTF-8. */
  readonly text: string;
}

export interface HttpRequestOptions {
  /** Any of them ends the request, even one that still waits for a connection. */
  signals?: readonly (AbortSignal | undefined)[];
  /** Longest wait for the whole response, including that for a connection, in milliseconds. */
  timeoutMs?: number;
}

/** @throws the reason of the aborted signal; a DOMException named TimeoutError; an error of undici */
export function httpRequest(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { signals = [], timeoutMs }: HttpRequestOptions = {},
): Promise<HttpResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>();
  const given = signals.filter((signal) => signal !== undefined);
  const chunks: Buffer[] = [];
  let head: Omit<HttpResponse, 'text'> | undefined;
  let controller: Dispatcher.DispatchController | undefined;
  let aborted: Error | undefined;

  const end = () => {
    clearTimeout(timer);
    for (const signal of given) signal.removeEventListener('abort', onAbort);
  };
  const abort = (reason: Error) => {
    aborted = reason;
    end();
    reject(reason);
    controller?.abort(reason);
  };
  const onAbort = () => abort(given.find((signal) => signal.aborted)?.reason);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => abort(new DOMException('no answer in time', 'TimeoutError')), timeoutMs);

  for (const signal of given) {
    if (signal.aborted) {
      end();
      return Promise.reject(signal.reason);
    }
    signal.addEventListener('abort', onAbort);
  }
  dispatcher.dispatch(request, {
    onRequestStart(started) {
      controller = started;
      if (aborted) started.abort(aborted);
    },
    onResponseStart(_, statusCode, headers) {
      if (statusCode >= 200) head = { statusCode, headers };
    },
    onResponseData(_, chunk) {
      chunks.push(chunk);
    },
    onResponseEnd() {
      end();
      if (head) resolve({ ...head, text: Buffer.concat(chunks).toString() });
    },
    onResponseError(_, error) {
      end();
      reject(error);
    },
  });
  return promise;
}
