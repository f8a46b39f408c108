/** The span of a request that this program sends. */
import type { Tracing } from './tracing.ts';

export interface HttpCall {
  method: string;
  url: URL;
}

export interface HttpAnswer {
  /** Undefined without a response. */
  status: number | undefined;
  requestId?: string | undefined;
  /** Why there was no response, or why it was unusable in spite of its status. */
  error?: string | undefined;
}

export interface HttpCallTrace {
  /** To be sent with the request. */
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
      // Without user, password and query: a query may hold anything.
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
      if (status !== undefined && status >= 400) span.fail(String(status));
      else if (status === undefined || error !== undefined) span.fail(error ?? 'unknown');
      span.end();
    },
  };
}
