/** A way to a database that resets connections, as a Service does whose Pod is not there. Only for test files. */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { atEnd } from '../end-of-file.ts';

/**
 * @param isReset told how many connections there have been with this one
 * @returns the URL of the database through it
 */
export async function breakableWayTo(database: string, isReset: (count: number) => boolean): Promise<string> {
  const real = new URL(database);
  let count = 0;
  const service = createServer((socket) => {
    if (isReset(++count)) return socket.resetAndDestroy();
    socket.pipe(connect(Number(real.port), real.hostname)).pipe(socket);
  }).listen(0, '127.0.0.1');
  atEnd(() => new Promise((closed) => service.close(closed)));
  await once(service, 'listening');
  const address = service.address();
  const through = new URL(real);
  through.port = String(typeof address === 'object' && address?.port);
  return through.href;
}
