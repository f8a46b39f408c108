/** HTTP under the typed client: keep-alive, timeouts, retries where they are safe, errors as typed values. */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, errors } from 'undici';
import { messageOf } from '../errors.ts';
import { httpRequest } from '../http-request.ts';
import { INSTALLATION_HEADER } from '../resources/definition/installation.ts';
import { backoff } from '../retry/backoff.ts';
import { ApiClock } from './clock.ts';
import { connectionProblem } from './connection-problem.ts';
import { ApiError, ApiUnreachableError, isNotFound } from './errors.ts';
import { type ApiRequest, checkOptions, type WireRequest, wireRequest } from './request.ts';
import { type ApiResponse, readResponse } from './response.ts';

export interface TransportOptions {
  /** Address of the API, such as `http://127.0.0.1:8080`. A path becomes a prefix of all paths. */
  baseUrl: string;
  /** A function is called for each request, so that the key can be replaced. */
  apiKey: string | (() => string);
  /** The account of all calls, if it is not that of the key; only for keys of platform admins. */
  account?: string | undefined;
  /** Longest wait for the whole response, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  /** Longest wait for all pages of a list together, in milliseconds. Default: no limit. */
  listTimeoutMs?: number;
  /** Retries of calls that are safe to repeat. Default 2; 0 for callers with a queue of their own. */
  retries?: number;
  /** Longest Retry-After to wait for, in milliseconds; a longer one ends the call. Default 30,000. */
  longestWaitMs?: number;
  /** Maximum number of connections to the API. Default 16. */
  connections?: number;
  /** Makes the connections, instead of an agent of its own; closed by the caller. */
  agent?: Agent;
  userAgent?: string;
  /** Shared by clients of one API. */
  clock?: ApiClock;
  /** Called after every attempt, for metrics. `status` is undefined without a response of the API. */
  onAttempt?: (attempt: { method: string; status: number | undefined; seconds: number }) => void;
  /**
   * Called with the id of the installation that answers, if it says so. If this throws, the answer is not used and the
   * call fails.
   */
  onInstallation?: (id: string) => void;
  /** Starts the trace span of an attempt. */
  trace?: (request: { method: string; url: URL }) => AttemptTrace;
  /** Awaited before a call is made of its parts, the key among them. */
  prepare?: () => Promise<void>;
  /** Wraps every attempt, for example to limit the calls in flight and to pause after Retry-After. */
  admit?: <T>(attempt: () => Promise<T>) => Promise<T>;
}

export interface AttemptTrace {
  /** Sent with the request. */
  headers: Readonly<Record<string, string>>;
  /** `status` is undefined without a response; `error` then says why, in a word. */
  end(answer: { status: number | undefined; requestId: string | undefined; error: string | undefined }): void;
}

export interface Transport {
  readonly clock: ApiClock;
  readonly listTimeoutMs: number | undefined;
  /**
   * Performs the call.
   * @throws ApiError, ApiUnreachableError; the reason of an aborted signal; TypeError for an invalid option, before
   *   anything is sent
   */
  send(call: ApiRequest): Promise<ApiResponse>;
  /** Waits for the calls in flight. */
  close(): Promise<void>;
  /** Aborts the calls in flight. A call that waits for its next attempt fails with the error of the last. */
  destroy(): Promise<void>;
}

const BACKOFF = { firstMs: 200, longestMs: 5_000 };

/** Far more than any response of the API. */
const LONGEST_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * An agent for one or several clients.
 * @param options.connect how to connect, such as with other certificate authorities
 */
export function createAgent({ connections, connect }: Pick<Agent.Options, 'connections' | 'connect'>): Agent {
  return new Agent({
    ...(connections !== undefined && { connections }),
    keepAliveTimeout: 30_000,
    connect: typeof connect === 'function' ? connect : { timeout: 10_000, ...connect },
    // Its HTTP/1.1 takes less processor time, and an abort at any moment is safe.
    allowH2: false,
    maxResponseSize: LONGEST_ANSWER_BYTES,
  });
}

/** @throws TypeError for an invalid option */
export function createTransport(options: TransportOptions): Transport {
  checkOptions(options);
  const { timeoutMs = 30_000, retries = 2, longestWaitMs = 30_000, connections = 16 } = options;
  const { clock = new ApiClock() } = options;
  const agent = options.agent ?? createAgent({ connections });
  const destroyed = new AbortController();
  const admit = options.admit ?? ((attempt) => attempt());

  async function attempt(call: ApiRequest, { url, method, headers, body }: WireRequest): Promise<ApiResponse> {
    const started = performance.now();
    const requestedAt = Date.now();
    let status: number | undefined;
    let requestId: string | undefined;
    let failure: unknown;
    const trace = options.trace?.({ method, url });
    const { signal } = call;
    try {
      const response = await httpRequest(
        agent,
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method,
          headers: { ...trace?.headers, ...headers },
          body: body ?? null,
        },
        { signals: [signal], timeoutMs },
      );
      status = response.statusCode;
      requestId = response.headers['x-request-id']?.toString();
      const installation = response.headers[INSTALLATION_HEADER]?.toString();
      if (installation !== undefined) options.onInstallation?.(installation);
      const answer = readResponse(call, response);
      if (answer.date) clock.observe(answer.date, requestedAt);
      return answer;
    } catch (error) {
      failure = error;
      if (error instanceof ApiError || error instanceof ApiUnreachableError) throw error;
      signal?.throwIfAborted();
      const connection = connectionProblem(error, url);
      // Its words replace those of the error, which a log would show beside them.
      const cause = connection === undefined ? withoutAnswer(error) : undefined;
      throw new ApiUnreachableError(`${method} ${call.path}: ${connection ?? describe(error)}`, { connection, cause });
    } finally {
      // A response that breaks off, or does not come from the API, counts as none.
      const isAnswer = failure === undefined || (status !== undefined && status >= 400);
      const seconds = (performance.now() - started) / 1000;
      options.onAttempt?.({ method, status: isAnswer ? status : undefined, seconds });
      trace?.end({ status, requestId, error: failure instanceof Error ? failure.name : undefined });
    }
  }

  async function send(call: ApiRequest): Promise<ApiResponse> {
    await options.prepare?.();
    const request = wireRequest(options, call);
    let outcomeKnown = true;
    for (let tried = 0; ; tried++) {
      try {
        return await admit(() => attempt(call, request));
      } catch (error) {
        // Deleted by an earlier attempt or by another client: either way it is gone.
        if (!outcomeKnown && call.method === 'DELETE' && isNotFound(error)) return GONE;
        // The error may be the effect of an earlier attempt.
        if (!outcomeKnown && call.method === 'PATCH' && error instanceof ApiError && !error.transient)
          throw new ApiUnreachableError(`${call.method} ${call.path}: no answer, and when repeated: ${error.message}`, {
            cause: error,
          });
        if (tried >= retries || !isTransient(error) || !isSafeToRepeat(call, error)) throw error;
        if ((error.retryAfterMs ?? 0) > longestWaitMs) throw error;
        outcomeKnown &&= isRefusal(error);
        // Not sooner than the API asked.
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
    clock,
    listTimeoutMs: options.listTimeoutMs,
    send,
    close: async () => {
      if (!options.agent) await agent.close();
    },
    destroy: async () => {
      destroyed.abort();
      if (!options.agent) await agent.destroy();
    },
  };
}

/**
 * GET, PUT, DELETE and PATCH (which sets values, not deltas) are safe to retry; POST only under an idempotency key. A
 * request with If-Match is not: if the first attempt took effect, the second one fails.
 */
function isSafeToRepeat(call: ApiRequest, error: ApiError | ApiUnreachableError): boolean {
  if (isRefusal(error)) return true;
  return call.ifMatch === undefined && (call.method !== 'POST' || call.idempotencyKey !== undefined);
}

/** Whether the API refused the request before it did anything. */
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

/** The parser's error quotes what it could not read, which may contain a token. */
const withoutAnswer = (error: unknown) => (error instanceof errors.HTTPParserError ? undefined : error);
