/** Posts requests to targets. Every outcome is an answer, failures included. */
import { Agent, type Dispatcher } from 'undici';
import type { AddressGuard } from '../../../outbound/address-guard.ts';
import { hostLookup, type ResolveHost } from '../../../outbound/host-lookup.ts';
import { parseRetryAfter } from '../../../retry/retry-after.ts';
import { causeOf, isConnectionLost, Stopped } from './send-errors.ts';

/** What is posted to a target. */
export interface TargetRequest {
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Removes from an answer the secrets that the receiver knows and may repeat. */
  redact: (answer: string) => string;
  /** Whether a 2xx response says in its body that the event was rejected. */
  isRejection?: (body: string) => boolean;
}

/** What came back. */
export interface Answer {
  /** Whether the receiver accepted the event. */
  delivered: boolean;
  /** Undefined if there was no HTTP answer. */
  status?: number;
  /** The beginning of the answer's body: at most 1 KiB, printable, without secrets. */
  body?: string;
  /** Why it was not delivered: a sentence without secrets. */
  error?: string;
  /** When the receiver wants to be asked again. */
  retryAfterMs?: number;
  /** The receiver wants no more events (410). */
  gone?: boolean;
}

export interface Sender {
  /** Never rejects for what a receiver or the network does. */
  send(request: TargetRequest, signal: AbortSignal): Promise<Answer>;
  /** Ends the requests under way. */
  close(): Promise<void>;
}

/** Longer answers are cut off, and their connection is closed. */
const MOST_READ = 16 * 1024;
const MOST_KEPT = 1024;

export interface SenderOptions {
  guard: AddressGuard;
  /** Longest wait for the whole answer, including lookup and connection. */
  timeoutMs: number;
  now: () => Date;
  resolve?: ResolveHost;
}

export function createSender({ guard, timeoutMs, now, resolve }: SenderOptions): Sender {
  // As many connections as there are requests: one that hangs must not hold up another to the same host.
  const options = { connect: guard.connector({ resolve: hostLookup(resolve), timeoutMs }), allowH2: false };
  const agent = new Agent(options);
  /** Each request on a connection of its own. */
  const fresh = new Agent({ ...options, pipelining: 0 });

  /** A receiver may close a connection at the moment at which it is used again: that says nothing about the receiver. */
  async function postOrRepeat(request: TargetRequest, signal: AbortSignal): Promise<Response> {
    const startedAt = performance.now();
    try {
      return await post(agent, request, signal, timeoutMs);
    } catch (error) {
      const leftMs = timeoutMs - (performance.now() - startedAt);
      if (!isConnectionLost(error) || leftMs <= 0) throw error;
      return post(fresh, request, signal, leftMs);
    }
  }

  return {
    async send(request, signal) {
      try {
        const { status, retryAfter, body } = await postOrRepeat(request, signal);
        const answer = { status, ...(body !== '' && { body: printable(request.redact(body)) }) };
        if (status >= 200 && status < 300) {
          if (!request.isRejection?.(body)) return { delivered: true, ...answer };
          return { delivered: false, ...answer, error: 'the receiver rejected the record' };
        }
        const retryAfterMs = parseRetryAfter(retryAfter, now().getTime());
        return {
          delivered: false,
          ...answer,
          error: refusalOf(status),
          ...(retryAfterMs !== undefined && { retryAfterMs }),
          ...(status === 410 && { gone: true }),
        };
      } catch (error) {
        return { delivered: false, error: causeOf(error) };
      }
    },
    close: async () => void (await Promise.all([agent.destroy(), fresh.destroy()])),
  };
}

const REDIRECTS = [301, 302, 303, 307, 308];

const refusalOf = (status: number) =>
  REDIRECTS.includes(status)
    ? `the receiver answered ${status}: redirects are not followed`
    : `the receiver answered ${status}`;

interface Response {
  status: number;
  retryAfter: string | undefined;
  /** At most MOST_READ bytes of it. */
  body: string;
}

/**
 * The head of an answer decides. If its body is too long or does not end in time, the beginning is enough.
 * undici's own `request` cannot be aborted while it connects.
 */
function post(agent: Agent, request: TargetRequest, signal: AbortSignal, timeoutMs: number): Promise<Response> {
  const { url, headers, body } = request;
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const chunks: Buffer[] = [];
  let read = 0;
  let head: Omit<Response, 'body'> | undefined;
  let aborted: Error | undefined;
  let controller: Dispatcher.DispatchController | undefined;

  const end = (error?: Error) => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    if (head) resolve({ ...head, body: chunks.length === 0 ? '' : beginning(Buffer.concat(chunks), MOST_READ) });
    else reject(error);
  };
  const stop = (reason: string) => {
    aborted = new Stopped(reason);
    end(aborted);
    controller?.abort(aborted);
  };
  const onAbort = () => stop('it was stopped before there was an answer');
  const timer = setTimeout(() => stop('there was no answer in time'), timeoutMs);
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) {
    onAbort();
    return promise;
  }
  agent.dispatch(
    { origin: url.origin, path: url.pathname + url.search, method: 'POST', headers, body },
    {
      onRequestStart(started) {
        controller = started;
        if (aborted) started.abort(aborted);
      },
      onResponseStart(_, status, received) {
        if (status >= 200) head = { status, retryAfter: received['retry-after']?.toString() };
      },
      onResponseData(_, chunk) {
        chunks.push(chunk);
        read += chunk.length;
        if (read >= MOST_READ) stop('the rest of the answer is not read');
      },
      onResponseEnd: () => end(),
      onResponseError: (_, error) => end(error),
    },
  );
  return promise;
}

/** The text in the first bytes, without a character that they cut in two. */
const beginning = (text: Buffer, bytes: number) => new TextDecoder().decode(text.subarray(0, bytes), { stream: true });

/** The beginning of the text, without the characters that change how the text around them looks. */
const printable = (text: string) => beginning(Buffer.from(text.replaceAll(/(?![\n\t])\p{C}/gu, '\ufffd')), MOST_KEPT);
