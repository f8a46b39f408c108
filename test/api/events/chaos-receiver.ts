/** A web server that events are posted to: keeps what arrives, and answers as it is told. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HTTP } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';
import { atEnd } from '../../end-of-file.ts';

const envelope = z.object({ id: z.string(), type: z.string(), subject: z.string(), sequence: z.string() });
export type Arrival = z.output<typeof envelope>;

export interface ChaosReceiver {
  readonly url: string;
  /** Everything that arrived, repetitions included. */
  readonly arrivals: Arrival[];
  /** Deliveries that a receiver must refuse: badly signed, or no CloudEvents. */
  readonly invalid: string[];
  /** The signing secret of the destination; it must be set before anything arrives. */
  secret: string;
}

/** @param answer returns the status after whatever time it likes */
export async function startReceiver(answer: () => number | Promise<number>): Promise<ChaosReceiver> {
  const arrivals: Arrival[] = [];
  const invalid: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // The sender was killed.
    }
    const body = Buffer.concat(chunks).toString();
    try {
      new Webhook(receiver.secret).verify(body, request.headers as Record<string, string>);
      HTTP.toEvent({ headers: request.headers, body });
      arrivals.push(envelope.parse(JSON.parse(body)));
    } catch (error) {
      invalid.push(`${error}: ${body.slice(0, 200)}`);
    }
    response.writeHead(await answer()).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const receiver = { url: `http://127.0.0.1:${port}/events`, arrivals, invalid, secret: '' };
  return receiver;
}
