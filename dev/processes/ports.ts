import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ranges from which Linux (32768) and macOS (49152) take the ports of outgoing connections: a server that
 * is restarted must find its port free, and no client may have got it in the meantime.
 */
const FIRST = 15_000;
const LAST = 32_000;

/** `count` different TCP ports on 127.0.0.1 that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  for (let tries = 0; found.size < count; tries++) {
    if (tries > 1000) throw new Error(`no free TCP port between ${FIRST} and ${LAST} on 127.0.0.1`);
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) found.add(port);
  }
  return [...found];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
