import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ranges from which Linux (32768) and macOS (49152) take the ports of outgoing connections: a restarted
 * server must find its port free, so no outgoing connection may take it in the meantime.
 */
const FIRST = 15_000;
const LAST = 32_000;

/** A TCP port on 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1000; tries++) {
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free TCP port between ${FIRST} and ${LAST} on 127.0.0.1`);
}

/** `count` different free ports. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) found.add(await freePort());
  return [...found];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
