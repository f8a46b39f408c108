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
  /** No timeout for the body: a watch. */
  endless?: boolean;
}

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

  /**
   * Returns the response whatever its status; the caller reads the body or destroys it. After a 401, which has no
   * effect on the server, sends the request once more with new credentials.
   * @throws KubeUnreachableError, or the reason of an aborted signal
   */
  async send(method: Method, path: string, options: SendOptions): Promise<Dispatcher.ResponseData> {
    const response = await this.#sendOnce(method, path, options);
    if (response.statusCode !== 401) return response;
    await response.body.dump();
    return this.#sendOnce(method, path, options);
  }

  async #sendOnce(method: Method, path: string, options: SendOptions): Promise<Dispatcher.ResponseData> {
    const started = performance.now();
    const fullPath = this.#server.pathname.replace(/\/$/, '') + path;
    const { tracing } = this.#options;
    const trace = tracing?.ids() && traceHttpCall(tracing, { method, url: new URL(fullPath, this.#server) });
    let failure: unknown;
    let status: number | undefined;
    try {
      const credentials = await this.#credentials.get();
      const { headers, dispatcher } = credentials;
      const body = options.body === undefined ? null : JSON.stringify(options.body);
      const response = await dispatcher.request({
        origin: this.#server.origin,
        path: fullPath + (options.query?.size ? `?${options.query}` : ''),
        method,
        headers: {
          ...trace?.headers,
          ...headers,
          accept: options.accept ?? 'application/json',
          'user-agent': this.#options.userAgent,
          ...(body === null ? {} : { 'content-type': options.contentType ?? 'application/json' }),
        },
        body,
        signal: options.signal ? AbortSignal.any([options.signal, this.#closed.signal]) : this.#closed.signal,
        headersTimeout: this.#options.timeoutMs,
        bodyTimeout: options.endless ? 0 : this.#options.timeoutMs,
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
