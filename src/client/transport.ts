/** HTTP under the typed client: keep-alive, timeouts, retries where they are safe, errors as typed values. */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, type Dispatcher, errors } from 'undici';
import { errorBody } from '../resources/definition/errors.ts';
import {
  IDEMPOTENCY_KEY_HEADER,
  IDEMPOTENCY_REPLAYED_HEADER,
  IDEMPOTENCY_SCOPE_HEADER,
  IDEMPOTENCY_SEQUENCE_HEADER,
  type IdempotencyPlace,
} from '../resources/definition/idempotency.ts';
import { backoff } from '../retry/backoff.ts';
import { parseRetryAfter } from '../retry/retry-after.ts';
import { ApiError, ApiUnreachableError, isNotFound, strangeAnswer } from './errors.ts';

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
  /** Told of every attempt, for metrics. `status` is undefined when there was no answer. */
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

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  idempotencyKey?: string | undefined;
  idempotencyPlace?: IdempotencyPlace | undefined;
  ifMatch?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface ApiResponse {
  status: number;
  body: unknown;
  etag: string | undefined;
  /** Whether it is the answer to an earlier create under the same idempotency key. */
  replayed: boolean;
  /** When it was sent, by the clock of the API. */
  date: Date | undefined;
}

export interface Transport {
  /** Performs the call. @throws ApiError, ApiUnreachableError; undici's InvalidArgumentError for what no request can carry */
  send(call: ApiRequest): Promise<ApiResponse>;
  /** Waits for the calls in flight. */
  close(): Promise<void>;
  /** Aborts the calls in flight. */
  destroy(): Promise<void>;
}

const BACKOFF = { firstMs: 200, longestMs: 5_000 };

export function createTransport(options: TransportOptions): Transport {
  const { timeoutMs = 30_000, retries = 2, longestWaitMs = 30_000, connections = 16 } = options;
  const base = options.baseUrl.replace(/\/+$/, '');
  const agent = new Agent({ connections, keepAliveTimeout: 30_000, connect: { timeout: 10_000 } });
  const admit = options.admit ?? ((attempt) => attempt());

  async function attempt(call: ApiRequest): Promise<ApiResponse> {
    const started = performance.now();
    let status: number | undefined;
    let requestId: string | undefined;
    let failure: unknown;
    let trace: AttemptTrace | undefined;
    try {
      const url = urlOf(base, call);
      trace = options.trace?.({ method: call.method, url });
      const response = await agent.request(requestOptions(url, options, call, timeoutMs, trace?.headers));
      status = response.statusCode;
      requestId = response.headers['x-request-id']?.toString();
      const raw = await response.body.text();
      return readResponse(call, response, raw);
    } catch (error) {
      failure = error;
      if (error instanceof ApiError || error instanceof ApiUnreachableError) throw error;
      // An argument that no request can carry, such as a header with a line break: nothing was sent.
      if (call.signal?.aborted || error instanceof errors.InvalidArgumentError) throw error;
      const mayTakeEffect = isChange(call) && !isUnsent(error);
      throw new ApiUnreachableError(`${call.method} ${call.path}: ${describe(error)}`, { cause: error, mayTakeEffect });
    } finally {
      options.onAttempt?.({ method: call.method, status, seconds: (performance.now() - started) / 1000 });
      trace?.end({ status, requestId, error: failure instanceof Error ? failure.name : undefined });
    }
  }

  async function send(call: ApiRequest): Promise<ApiResponse> {
    let outcomeKnown = true;
    for (let tried = 0; ; tried++) {
      try {
        return await admit(() => attempt(call));
      } catch (error) {
        // An earlier attempt has deleted it, or somebody else has: it is gone.
        if (!outcomeKnown && call.method === 'DELETE' && isNotFound(error)) return GONE;
        if (tried >= retries || !isTransient(error) || !isSafeToRepeat(call, error)) throw error;
        if ((error.retryAfterMs ?? 0) > longestWaitMs) throw error;
        outcomeKnown &&= isRefusal(error);
        // Never sooner than the API asked for.
        const wait = (error.retryAfterMs ?? 0) + backoff(tried + 1, BACKOFF);
        await delay(wait, undefined, { signal: call.signal });
      }
    }
  }

  return { send, close: () => agent.close(), destroy: () => agent.destroy() };
}

function urlOf(base: string, call: ApiRequest): URL {
  const url = new URL(base + call.path);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function requestOptions(
  url: URL,
  options: TransportOptions,
  call: ApiRequest,
  timeoutMs: number,
  traceHeaders: AttemptTrace['headers'] = {},
) {
  const headers: Record<string, string> = {
    ...traceHeaders,
    authorization: `Bearer ${options.apiKey}`,
    'service-version': '2',
    'user-agent': options.userAgent ?? 'tunnel-operator-client',
  };
  if (call.idempotencyKey !== undefined) headers[IDEMPOTENCY_KEY_HEADER] = call.idempotencyKey;
  if (call.idempotencyPlace !== undefined) {
    headers[IDEMPOTENCY_SCOPE_HEADER] = call.idempotencyPlace.scope;
    headers[IDEMPOTENCY_SEQUENCE_HEADER] = String(call.idempotencyPlace.sequence);
  }
  if (call.ifMatch !== undefined) headers['if-match'] = call.ifMatch;
  if (call.body !== undefined) headers['content-type'] = 'application/json';
  const deadline = AbortSignal.timeout(timeoutMs);
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    method: call.method,
    headers,
    signal: call.signal ? AbortSignal.any([call.signal, deadline]) : deadline,
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
  };
}

function readResponse(call: ApiRequest, response: Dispatcher.ResponseData, raw: string): ApiResponse {
  const { method, path } = call;
  const { statusCode: status, headers } = response;
  const retryAfterMs = parseRetryAfter(headers['retry-after']?.toString(), Date.now());
  const body = parseJson(raw);
  const isAsDocumented = method === 'DELETE' ? status === 204 : status !== 204 && body !== undefined;
  if (status < 300 && isAsDocumented) {
    const etag = headers.etag?.toString();
    const replayed = IDEMPOTENCY_REPLAYED_HEADER in headers;
    return { status, body, etag, replayed, date: parseDate(headers.date?.toString()) };
  }
  const error = errorBody.safeParse(body);
  if (status >= 400 && error.success) throw new ApiError(error.data, retryAfterMs);
  const [mediaType = ''] = headers['content-type']?.toString().split(';') ?? [];
  const answer = raw === '' ? `${status} without a body` : `${status} with ${mediaType || 'a body of unknown type'}`;
  const detail = `${method} ${path}, ${Buffer.byteLength(raw)} bytes`;
  throw strangeAnswer({ answer, detail, status, retryAfterMs, mayTakeEffect: isChange(call) });
}

function parseDate(header: string | undefined): Date | undefined {
  const date = new Date(header ?? '');
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Undefined for what is not JSON. The error would quote the text, which may hold a token. */
function parseJson(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

/**
 * GET, PUT and DELETE repeat safely; PATCH because it sets values, not deltas; POST only under an idempotency key. What has an
 * If-Match does not: if the first attempt took effect, the second one is told that the resource has changed.
 */
function isSafeToRepeat(call: ApiRequest, error: ApiError | ApiUnreachableError): boolean {
  if (isRefusal(error)) return true;
  return call.ifMatch === undefined && (call.method !== 'POST' || call.idempotencyKey !== undefined);
}

/** A create under an idempotency key, sent again, is told what the first one made. */
const isChange = ({ method }: ApiRequest) => method === 'PATCH' || method === 'PUT' || method === 'DELETE';

/** Whether there was no connection to send it on. */
function isUnsent(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'UND_ERR_CONNECT_TIMEOUT';
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
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
