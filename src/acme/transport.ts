/** Requests to the authority: signed, with a nonce each, bounded in time and size (RFC 8555, section 6). */
import { getCACertificates } from 'node:tls';
import { type Dispatcher, EnvHttpProxyAgent, request } from 'undici';
import type { z } from 'zod';
import { AcmeError, type AcmeProblem } from './errors.ts';
import { type AccountKey, signRequest } from './jose.ts';
import { problem } from './objects.ts';

export interface TransportOptions {
  /** Names the client and its version (RFC 8555, section 6.1). */
  userAgent: string;
  /** Certificates in PEM that the authority's server may be verified with, besides those of Node.js. */
  trustedCertificates?: string | undefined;
  /** Longest wait for a response. Default 30,000. */
  timeoutMs?: number;
}

export interface Account {
  readonly key: AccountKey;
  readonly url: string;
}

export interface AcmeResponse {
  readonly url: string;
  readonly status: number;
  readonly text: string;
  /** The resource that was created. */
  readonly location: string | undefined;
  /** Asked for by the authority. */
  readonly retryAfterMs: number | null;
}

export interface Transport {
  /** @throws AcmeError */
  get(url: string): Promise<AcmeResponse>;
  /**
   * @param by the account, or the key of one that is about to be made
   * @param payload undefined: POST-as-GET
   * @throws AcmeError
   */
  post(url: string, newNonce: string, by: Account | AccountKey, payload?: object): Promise<AcmeResponse>;
  close(): Promise<void>;
}

/** A server may refuse half of the nonces, as Pebble does on request: one in a million requests then fails. */
const MOST_NONCES = 20;
/** Nonces that are kept for later requests. */
const MOST_SPARE = 16;
const MOST_BYTES = 1024 * 1024;

export function createTransport({ userAgent, trustedCertificates, timeoutMs = 30_000 }: TransportOptions): Transport {
  const connect = {
    timeout: timeoutMs,
    ...(trustedCertificates !== undefined && { ca: [...getCACertificates('default'), trustedCertificates] }),
  };
  const dispatcher = new EnvHttpProxyAgent({ connect, requestTls: connect });
  const spare: string[] = [];

  async function send(method: 'GET' | 'HEAD' | 'POST', url: string, body?: string): Promise<AcmeResponse> {
    const headers = { 'user-agent': userAgent, ...(body !== undefined && { 'content-type': 'application/jose+json' }) };
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const response = await request(url, { method, dispatcher, headers, signal, ...(body !== undefined && { body }) });
      const nonce = headerOf(response, 'replay-nonce');
      if (nonce !== undefined && spare.length < MOST_SPARE) spare.push(nonce);
      return {
        url,
        status: response.statusCode,
        text: await textOf(response),
        location: headerOf(response, 'location'),
        retryAfterMs: retryAfter(headerOf(response, 'retry-after')),
      };
    } catch (cause) {
      if (cause instanceof AcmeError) throw cause;
      const reason = signal.aborted ? `no response within ${timeoutMs / 1000} s` : reasonOf(cause);
      throw unreachable(`${new URL(url).host} could not be reached: ${reason}`, cause);
    }
  }

  async function freshNonce(newNonce: string): Promise<string> {
    const known = spare.pop();
    if (known !== undefined) return known;
    const response = await send('HEAD', newNonce);
    const nonce = spare.pop();
    if (nonce === undefined) throw problemOf(response, 'gave no nonce');
    return nonce;
  }

  return {
    async get(url) {
      return successful(await send('GET', url));
    },
    async post(url, newNonce, by, payload) {
      const { key, accountUrl } =
        'url' in by ? { key: by.key, accountUrl: by.url } : { key: by, accountUrl: undefined };
      for (let attempt = 1; ; attempt += 1) {
        const nonce = await freshNonce(newNonce);
        const response = await send('POST', url, JSON.stringify(signRequest(key, { accountUrl, nonce, url }, payload)));
        if (response.status < 400) return successful(response);
        const error = problemOf(response);
        if (error.type !== 'badNonce' || attempt === MOST_NONCES) throw error;
      }
    },
    close: () => dispatcher.close(),
  };
}

/** The object in a response. @throws AcmeError */
export function read<S extends z.ZodType>(schema: S, response: AcmeResponse): z.output<S> {
  const { success, data, error } = schema.safeParse(jsonOf(response.text));
  if (success) return data;
  const [issue] = error.issues;
  throw problemOf(response, `is not what RFC 8555 describes: ${issue?.path.join('.') || 'body'}: ${issue?.message}`);
}

function successful(response: AcmeResponse): AcmeResponse {
  if (response.status >= 200 && response.status < 300) return response;
  throw problemOf(response);
}

/** @param unexpected what is wrong with a response that is no problem document */
function problemOf({ url, status, text, retryAfterMs }: AcmeResponse, unexpected?: string): AcmeError {
  const { data } = problem.safeParse(jsonOf(text));
  const said = unexpected === undefined ? data : undefined;
  const detail =
    said?.detail ?? `the response of ${new URL(url).host}, status ${status}, ${unexpected ?? 'gives no reason'}`;
  const { type = null, subproblems = [] } = said ?? {};
  return new AcmeError({ type, status, detail, subproblems, retryAfterMs });
}

const unreachable = (detail: string, cause?: unknown) => {
  const none: Omit<AcmeProblem, 'detail'> = { type: null, status: null, subproblems: [], retryAfterMs: null };
  return new AcmeError({ ...none, detail }, { cause });
};

/** Seconds, or a date (RFC 9110, section 10.2.3). */
function retryAfter(text: string | undefined): number | null {
  if (text === undefined) return null;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

async function textOf({ body }: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    const buffer = Buffer.from(chunk);
    size += buffer.length;
    // Leaving the loop closes the connection.
    if (size > MOST_BYTES) throw unreachable(`a response is longer than ${MOST_BYTES} bytes`);
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString();
}

function headerOf({ headers }: Dispatcher.ResponseData, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message || error.name : String(error));
