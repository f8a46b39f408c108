/** Fetching files over HTTPS, checked against a published checksum. */
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, fetch } from 'undici';

/** Short, since on a closed network it delays every build. */
const CONNECT_TIMEOUT_MS = 1500;
/** Includes the DNS lookup, which has no timeout of its own. */
const FIRST_ANSWER_TIMEOUT_MS = 8000;
const STALLED_TIMEOUT_MS = 30_000;

/** The network, the server or its response is at fault; there may be another way to get the file. */
export class DownloadFailed extends Error {
  override readonly name = 'DownloadFailed';
}

/** The download does not match the published checksum. It is neither used nor retried. */
export class ChecksumMismatch extends Error {
  override readonly name = 'ChecksumMismatch';
}

export interface Checksum {
  readonly algorithm: 'sha256' | 'sha512';
  readonly hex: string;
}

/**
 * The text at `url`.
 * @throws DownloadFailed
 */
export async function fetchText(url: string): Promise<string> {
  return request(url, (response) => response.text());
}

/**
 * Writes the file at `url` to `path`. Nothing is left there on failure.
 * @param onBytes called with the bytes so far and, if known, the total
 * @throws DownloadFailed, ChecksumMismatch
 */
export async function fetchFile(
  url: string,
  path: string,
  checksum: Checksum,
  onBytes: (received: number, total: number | undefined) => void = () => {},
): Promise<void> {
  const hash = createHash(checksum.algorithm);
  try {
    await request(url, async (response) => {
      if (response.body === null) throw new Error('an empty response');
      const length = response.headers.get('content-length');
      const total = length === null ? undefined : Number(length);
      let received = 0;
      const measured = async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          received += chunk.length;
          onBytes(received, total);
          yield chunk;
        }
      };
      await pipeline(Readable.fromWeb(response.body), measured, createWriteStream(path));
    });
    const actual = hash.digest('hex');
    if (actual !== checksum.hex.toLowerCase()) {
      throw new ChecksumMismatch(`${url}: ${checksum.algorithm} is ${actual}, published is ${checksum.hex}`);
    }
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

type FetchResponse = Awaited<ReturnType<typeof fetch>>;

async function request<T>(url: string, read: (response: FetchResponse) => Promise<T>): Promise<T> {
  const dispatcher = new EnvHttpProxyAgent({
    connect: { timeout: CONNECT_TIMEOUT_MS },
    headersTimeout: STALLED_TIMEOUT_MS,
    bodyTimeout: STALLED_TIMEOUT_MS,
  });
  const firstAnswer = new AbortController();
  const timer = setTimeout(() => firstAnswer.abort(new Error('no answer')), FIRST_ANSWER_TIMEOUT_MS);
  try {
    const response = await fetch(url, { dispatcher, signal: firstAnswer.signal });
    clearTimeout(timer);
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await read(response);
  } catch (error) {
    throw new DownloadFailed(`${url}: ${reason(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
    await dispatcher.destroy();
  }
}

/** undici's message is only `fetch failed`; the cause says what happened. */
function reason(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  const told = cause instanceof Error ? cause : error;
  const code = told instanceof Error && 'code' in told ? `${told.code} ` : '';
  return code + (told instanceof Error ? told.message : String(told));
}
