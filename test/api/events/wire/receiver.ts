/** A web server on loopback that events are sent to. Only for test files; it is closed when the test ends. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { SentEvent } from '../../../../src/api/events/wire/cloud-event.ts';
import { type CourierOptions, createCourier } from '../../../../src/api/events/wire/courier.ts';
import type { Destination } from '../../../../src/api/events/wire/targets.ts';
import type { EventTarget } from '../../../../src/resources/event-target.ts';

export interface Received {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** @param answer need not end the response; by default 204 */
export async function receiver(
  answer: (response: ServerResponse) => void = (response) => response.writeHead(204).end(),
) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    received.push({ path: request.url, headers: request.headers, body: await text(request) });
    answer(response);
  });
  onTestFinished(() => server.closeAllConnections());
  return { port: await listening(server), received };
}

/** A server that speaks for itself. */
export async function tcpReceiver(accept: (socket: Socket) => void, host = '127.0.0.1') {
  const connections: Socket[] = [];
  const server = createTcpServer((socket) => {
    connections.push(socket.on('error', () => undefined));
    accept(socket);
  });
  onTestFinished(() => void connections.map((socket) => socket.destroy()));
  return { port: await listening(server, host), connections };
}

async function listening(server: Server, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((done) => server.listen(0, host, done));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A courier that may call loopback, unless the options say otherwise. */
export function courier(options: Partial<CourierOptions> = {}) {
  const made = createCourier({
    source: 'https://api.example.com',
    allowNetworks: ['127.0.0.1'],
    httpHosts: ['127.0.0.1'],
    ...options,
  });
  onTestFinished(() => made.close());
  return made;
}

export const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

export const EVENT: SentEvent = {
  id: 'ev_01m7yvm3exf20vnt0zpjk6qd8w',
  type: 'ip_policy_updated.v0',
  time: '2026-11-21T10:00:00.123Z',
  subject: 'ipp_01m7yvm3exf20vnt0zpjk6qd8w',
  sequence: '00000000000000000042',
  principal: 'usr_01m7yvm3exf20vnt0zpjk6qd8w',
  data: {
    id: 'ipp_01m7yvm3exf20vnt0zpjk6qd8w',
    uri: 'https://api.example.com/ip_policies/ipp_01m7yvm3exf20vnt0zpjk6qd8w',
    description: 'für das Büro',
    revision: 7,
    changed_fields: ['description'],
  },
};

export const destination = (target: EventTarget, more: Partial<Destination> = {}): Destination => ({
  id: 'ed_01m7yvm3exf20vnt0zpjk6qd8w',
  format: 'json',
  secrets: [SECRET],
  target,
  ...more,
});

export const webhook = (port: number, path = '/', more: Partial<Destination> = {}) =>
  destination({ webhook: { url: `http://127.0.0.1:${port}${path}` } }, more);

export const never = new AbortController().signal;
