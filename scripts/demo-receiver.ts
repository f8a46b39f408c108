/** A receiver of events on this machine: says what has arrived, and whether its signature is right. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';

const event = z.object({ type: z.string(), subject: z.string() });
const headersOf = z.record(z.string(), z.string());

export interface DemoReceiver {
  readonly url: string;
  /** The signing secret of its destination. Events that come before it is set are refused, and come again. */
  secret: string | undefined;
  /** Told of each event whose signature is right. */
  onEvent: (line: string) => void;
  /** Resolves with what it says of the next event. */
  next(withinMs: number): Promise<string>;
  stop(): Promise<void>;
}

export async function startDemoReceiver(host: string): Promise<DemoReceiver> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const body = Buffer.concat(chunks).toString();
    try {
      new Webhook(receiver.secret ?? '').verify(body, headersOf.parse(request.headers));
      const { type, subject } = event.parse(JSON.parse(body));
      receiver.onEvent(`${type} of ${subject} has arrived; its signature is right`);
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(400).end(String(error));
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: DemoReceiver = {
    url: `http://${host}:${port}/events`,
    secret: undefined,
    onEvent: () => {},
    next(withinMs) {
      const late = delay(withinMs, undefined, { ref: false }).then(() => {
        throw new Error(`no event has arrived at ${receiver.url}`);
      });
      const arrival = new Promise<string>((resolve) => {
        receiver.onEvent = resolve;
      });
      return Promise.race([arrival, late]);
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

/** A destination for the events of policies, as objects for kubectl. */
export function receiverManifest(url: string) {
  const apiVersion = 'tunnel-operator.dev/v1alpha1';
  const metadata = { name: 'receiver' };
  const sources = ['created', 'updated', 'deleted'].map((change) => ({ type: `ip_policy_${change}.v0` }));
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion, kind: 'EventDestination', metadata, spec: { target: { webhook: { url } } } },
      { apiVersion, kind: 'EventSubscription', metadata, spec: { sources, destinationRefs: [{ name: 'receiver' }] } },
    ],
  };
}
