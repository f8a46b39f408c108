/** The span of a request that this program sends. */
import type { Tracing } from './tracing.ts';

export interface HttpCall {
  method: string;
  url: URL;
}

export interface HttpAnswer {
  /** Undefined when there was none; then `error` says why. */
  status: number | undefined;
  requestId?: string | undefined;
  error?: string | undefined;
}

export interface HttpCallTrace {
  /** To be sent with it. */
  headers: Readonly<Record<string, string>>;
  end(answer: HttpAnswer): void;
}

export function traceHttpCall(tracing: Tracing, { method, url }: HttpCall): HttpCallTrace {
  const span = tracing.begin({
    name: method,
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'server.address': url.hostname,
      'server.port': Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
      // Neither user nor password, nor what is asked for: a query may hold anything.
      'url.full': url.origin + url.pathname,
    },
  });
  return {
    headers: span.headers,
    end({ status, requestId, error }) {
      span.set({
        'http.response.status_code': status,
        'http.response.header.x-request-id': requestId === undefined ? undefined : [requestId],
      });
      if (status === undefined) span.fail(error ?? 'unknown');
      else if (status >= 400) span.fail(String(status));
      span.end();
    },
  };
}
