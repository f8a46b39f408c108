/**
 * Bounds what comes before the body of a request: it is held from its first byte, by whoever sends it as slowly as they
 * may, and counts for nobody. Node's own bounds are 16 KiB and 1,000 lines, of which it makes several times as much.
 */
import type { IncomingMessage } from 'node:http';
import { type ApiError, invalidByRule } from '../errors/errors.ts';

export const HEAD_LIMITS = { bytes: 8 * 1024, lines: 100 };

/** Beyond this, the first versions of Node 24 drop lines without a word: one more than the limit shows that there are too many. */
export const LINES_READ = HEAD_LIMITS.lines + 1;

/** Whoever notices first says so: Node, of bytes and in its later versions of lines, or we. */
export const largeHead = (): ApiError =>
  invalidByRule({ headers: `are more than ${HEAD_LIMITS.bytes} bytes or ${HEAD_LIMITS.lines} lines` });

/** Why the header lines of a request are refused, if they are. */
export function headProblem({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): ApiError | undefined {
  if (rawHeaders.length / 2 > HEAD_LIMITS.lines) return largeHead();
  return hasOneHost(rawHeaders) ? undefined : invalidByRule({ Host: 'must be given only once' });
}

/**
 * Whether at most one host is named (RFC 9112, section 3.2). Node shows the first and drops the others, of which a proxy
 * may take any.
 */
function hasOneHost(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts <= 1;
}
