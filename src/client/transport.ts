/** HTTP under the typed client: keep-alive, timeouts, retries where they are safe, errors as typed values. */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, errors } from 'undici';
import { type DeferredAbort, deferredAbort } from '../deferred-abort.ts';
import { messageOf } from '../errors.ts';
import { backoff } from '../retry/backoff.ts';
import { ApiError, ApiUnreachableError, isNotFound } from './errors.ts';
import { type ApiRequest, checkOptions, type WireRequest, wireRequest } from './request.ts';
import { type ApiResponse, readResponse } from './response.ts';

export interface TransportOptions {
  /** Where the API is, e.g. `http://127.0.0.1:8080`; a path is kept as a prefix. */
  baseUrl: string;
  apiKey: string;
  /** Longest wait for the whole answer, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  /** Retries of calls that are safe to repeat. Default 2; 0 for callers with a queue of their own. */
  retries?: number;
  /** Longest wait for the sake of a Retry-After, in milliseconds; a longer one ends the call. Default 30,000. */
  longestWaitMs?: number;
  /** Most connections to the API. Default 16. */
  connections?: number;
  userAgent?: string;
  /** Told of every attempt, for metrics. `status` is undefined when there was no answer, or none that is the API's. */
  onAttempt?: (attempt: { method: string; status: number | undefined; seconds: number }) => void;
  /** Begins the trace of an attempt. */
  trace?: (request: { method: string; url: URL }) => AttemptTrace;
  /** Wraps every attempt: a shared budget of calls under way, a pause after Retry-After. */
  admit?: <T>(attempt: () => Promise<T>) => Promise<T>;
}

export interface AttemptTrace {
  /** Sent with the request. */
  headers: Readonly<Record<string, string>>;
  /** `status` is undefined when there was no answer; `error` says why, in a word. */
  end(answer: { status: number | undefined; requestId: string | undefined; error: string | undefined }): void;
}

export interface Transport {
  /**
   * Performs the call.
   * @throws ApiError, ApiUnreachableError; the reason of an aborted signal; TypeError for what no request can carry, which
   *   is not sent
   */
  send(call: ApiRequest): Promise<ApiResponse>;
  /** Waits for the calls in flight. */
  close(): Promise<void>;
  /** Aborts the calls in flight, and ends waits for another attempt with what the last one failed with. */
  destroy(): Promise<void>;
}

const BACKOFF = { firstMs: 200, longestMs: 5_000 };

/** Far more than any answer of the API. */
const LONGEST_ANSWER_BYTES = 64 * 1024 * 1024;

/** @throws TypeError for an option that cannot work */
export function createTransport(options: TransportOptions): Transport {
  checkOptions(options);
  const { timeoutMs = 30_000, retries = 2, longestWaitMs = 30_000, connections = 16 } = options;
  const agent = new Agent({
    connections,
    keepAliveTimeout: 30_000,
    connect: { timeout: 10_000 },
    maxResponseSize: LONGEST_ANSWER_BYTES,
  });
  const destroyed = new AbortController();
  const admit = options.admit ?? ((attempt) => attempt());

  async function attempt(call: ApiRequest, { url, method, headers, body }: WireRequest): Promise<ApiResponse> {
    const started = performance.now();
    let status: number | undefined;
    let requestId: string | undefined;
    let failure: unknown;
    let abort: DeferredAbort | undefined;
    const trace = options.trace?.({ method, url });
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      abort = deferredAbort(call.signal ? AbortSignal.any([call.signal, deadline]) : deadline);
      const response = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: { ...trace?.headers, ...headers },
        signal: abort.signal,
        ...(body === undefined ? {} : { body }),
      });
      status = response.statusCode;
      requestId = response.headers['x-request-id']?.toString();
      return readResponse(call, response, await response.body.text());
    } catch (error) {
      failure = error;
      if (error instanceof ApiError || error instanceof ApiUnreachableError) throw error;
      call.signal?.throwIfAborted();
      throw new ApiUnreachableError(`${method} ${call.path}: ${describe(error)}`, {
        cause: withoutAnswer(error),
      });
    } finally {
      abort?.end();
      // What began well and then broke off, or was not the API's, was no answer.
      const isAnswer = failure === undefined || (status !== undefined && status >= 400);
      const seconds = (performance.now() - started) / 1000;
      options.onAttempt?.({ method, status: isAnswer ? status : undefined, seconds });
      trace?.end({ status, requestId, error: failure instanceof Error ? failure.name : undefined });
    }
  }

  async function send(call: ApiRequest): Promise<ApiResponse> {
    const request = wireRequest(options, call);
    let outcomeKnown = true;
    for (let tried = 0; ; tried++) {
      try {
        return await admit(() => attempt(call, request));
      } catch (error) {
        // An earlier attempt has deleted it, or somebody else has: it is gone.
        if (!outcomeKnown && call.method === 'DELETE' && isNotFound(error)) return GONE;
        // What is said of the repetition may be so only since an earlier attempt took effect.
        if (!outcomeKnown && call.method === 'PATCH' && error instanceof ApiError && !error.transient)
          throw new ApiUnreachableError(`${call.method} ${call.path}: no answer, and when repeated: ${error.message}`, {
            cause: error,
          });
        if (tried >= retries || !isTransient(error) || !isSafeToRepeat(call, error)) throw error;
        if ((error.retryAfterMs ?? 0) > longestWaitMs) throw error;
        outcomeKnown &&= isRefusal(error);
        // Never sooner than the API asked for.
        const wait = (error.retryAfterMs ?? 0) + backoff(tried + 1, BACKOFF);
        const given = call.signal ? [call.signal] : [];
        await delay(wait, undefined, { signal: AbortSignal.any([destroyed.signal, ...given]) }).catch(() => {
          call.signal?.throwIfAborted();
          throw error;
        });
      }
    }
  }

  return {
    send,
    close: () => agent.close(),
    destroy: () => {
      destroyed.abort();
      return agent.destroy();
    },
  };
}

/**
 * GET, PUT and DELETE repeat safely; PATCH because it sets values, not deltas; POST only under an idempotency key. What has an
 * If-Match does not: if the first attempt took effect, the second one is told that the resource has changed.
 */
function isSafeToRepeat(call: ApiRequest, error: ApiError | ApiUnreachableError): boolean {
  if (isRefusal(error)) return true;
  return call.ifMatch === undefined && (call.method !== 'POST' || call.idempotencyKey !== undefined);
}

/** Whether the API refused the request before it began. */
const isRefusal = (error: ApiError | ApiUnreachableError) => error.status === 429;

const GONE: ApiResponse = { status: 204, body: undefined, etag: undefined, replayed: false, date: undefined };

function isTransient(error: unknown): error is ApiError | ApiUnreachableError {
  return error instanceof ApiUnreachableError || (error instanceof ApiError && error.transient);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'no answer in time';
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : messageOf(error);
}

/** The parser's error has what it could not read, which may hold a token. */
const withoutAnswer = (error: unknown) => (error instanceof errors.HTTPParserError ? undefined : error);
