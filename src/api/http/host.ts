/** The Host header (RFC 9112, section 3.2). */
import type { IncomingMessage } from 'node:http';

/** Whether a request names at most one host. Node shows the first and drops the others, of which a proxy may take any. */
export function hasOneHost({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts <= 1;
}
