/**
 * Requests to the Kubernetes API on one kept-alive connection pool.
 *
 * `@kubernetes/client-node` 2.0.1 supplies configuration and credentials. Its generated API classes are not used: they
 * create a new connection pool, and hence do a TLS handshake, for every request
 * (`KubeConfig.applySecurityAuthentication`).
 */
import type { KubeConfig } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import { messageOf } from '../../errors.ts';
import { type HttpResponse, httpRequest } from '../../http-request.ts';
import { traceHttpCall } from '../../tracing/http-call.ts';
import { errorType, type Tracing } from '../../tracing/tracing.ts';
import { KubeCredentials } from './kube-credentials.ts';
import { KubeUnreachableError } from './kube-error.ts';
import type { KubeMetrics } from './metrics.ts';

export interface KubeTransportOptions {
  userAgent: string;
  /** Timeout of a request other than a watch, in milliseconds. */
  timeoutMs: number;
  metrics?: KubeMetrics;
  /** A call made within a span gets a child span. */
  tracing?: Tracing | undefined;
}

export interface SendOptions {
  query?: URLSearchParams;
  body?: unknown;
  contentType?: string;
  /** Media type of the answer; JSON by default. */
  accept?: string;
  signal?: AbortSignal | undefined;
}

/** Has a body if the status is 200, and else the text. */
export interface WatchResponse extends HttpResponse {
  readonly body?: AsyncIterable<Uint8Array>;
}

type Perform<T> = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions & { path: string; method: Method },
) => Promise<T>;

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** The code under which client-go counts calls without a response. */
const UNANSWERED = '<error>';

export class KubeTransport {
  readonly #options: KubeTransportOptions;
  readonly #server: URL;
  readonly #credentials: KubeCredentials;
  /** For calls on connections that were replaced: undici loses sight of these, and cannot end them. */
  readonly #closed = new AbortController();

  constructor(config: KubeConfig, options: KubeTransportOptions) {
    const cluster = config.getCurrentCluster();
    if (!cluster) throw new Error('The kubeconfig has no current context with a cluster');
    this.#options = options;
    this.#server = new URL(cluster.server);
    this.#credentials = new KubeCredentials(config, this.#server.href);
  }

  /** Aborts every request and watch in progress. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('the client is closed'));
    await this.#credentials.close();
  }

  /** @throws KubeUnreachableError, or the reason of an aborted signal */
  call(method: Method, path: string, options: SendOptions): Promise<HttpResponse> {
    return this.#send(method, path, options, (dispatcher, request) =>
      httpRequest(dispatcher, request, { signals: [options.signal, this.#closed.signal] }),
    );
  }

  /**
   * A GET whose response, if it is a success, is a stream without an end; the caller reads or destroys it.
   * @throws KubeUnreachableError, or the reason of an aborted signal
   */
  watch(path: string, options: SendOptions & { signal: AbortSignal }): Promise<WatchResponse> {
    return this.#send('GET', path, options, async (dispatcher, request) => {
      const signal = AbortSignal.any([options.signal, this.#closed.signal]);
      const { statusCode, headers, body } = await dispatcher.request({ ...request, bodyTimeout: 0, signal });
      if (statusCode === 200) return { statusCode, headers, text: '', body };
      return { statusCode, headers, text: await body.text() };
    });
  }

  /** After a 401, which has no effect on the server, sends the request once more with new credentials. */
  async #send<T extends HttpResponse>(
    method: Method,
    path: string,
    options: SendOptions,
    perform: Perform<T>,
  ): Promise<T> {
    const response = await this.#sendOnce(method, path, options, perform);
    return response.statusCode === 401 ? this.#sendOnce(method, path, options, perform) : response;
  }

  async #sendOnce<T extends HttpResponse>(
    method: Method,
    path: string,
    options: SendOptions,
    perform: Perform<T>,
  ): Promise<T> {
    const started = performance.now();
    const fullPath = this.#server.pathname.replace(/\/$/, '') + path;
    const { tracing, timeoutMs, userAgent } = this.#options;
    const trace = tracing?.ids() && traceHttpCall(tracing, { method, url: new URL(fullPath, this.#server) });
    let failure: unknown;
    let status: number | undefined;
    try {
      const credentials = await this.#credentials.get();
      const { headers, dispatcher } = credentials;
      const body = options.body === undefined ? null : JSON.stringify(options.body);
      const response = await perform(dispatcher, {
        origin: this.#server.origin,
        path: fullPath + (options.query?.size ? `?${options.query}` : ''),
        method,
        headers: {
          ...trace?.headers,
          ...headers,
          accept: options.accept ?? 'application/json',
          'user-agent': userAgent,
          ...(body === null ? {} : { 'content-type': options.contentType ?? 'application/json' }),
        },
        body,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      status = response.statusCode;
      if (status === 401) this.#credentials.refused(credentials);
      return response;
    } catch (cause) {
      failure = cause;
      if (options.signal?.aborted) throw cause;
      throw new KubeUnreachableError(`${method} ${path}: ${messageOf(cause)}`, { cause });
    } finally {
      const { host } = this.#server;
      const code = status === undefined ? UNANSWERED : String(status);
      this.#options.metrics?.requests.inc({ method, code, host });
      this.#options.metrics?.requestTime.observe({ verb: method, host }, (performance.now() - started) / 1000);
      trace?.end({ status, error: failure === undefined ? undefined : errorType(failure) });
    }
  }
}
