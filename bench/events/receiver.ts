/** A receiver of webhooks that answers at once. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export const HOST = '127.0.0.1';

export interface Receiver {
  readonly url: string;
  /** When each event arrived first, by its id, as of `performance.now()`. */
  readonly arrivals: Map<string, number>;
  /** Resolves when that many more have arrived. */
  expect(count: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  let left = Number.POSITIVE_INFINITY;
  let arrived = () => {};
  const arrivals = new Map<string, number>();
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id']);
    if (!arrivals.has(id)) arrivals.set(id, performance.now());
    request.resume().on('end', () => {
      response.writeHead(204).end();
      if (--left === 0) arrived();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, HOST, resolve));
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}/`,
    arrivals,
    expect(count) {
      left = count;
      return new Promise((resolve) => {
        arrived = resolve;
      });
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
