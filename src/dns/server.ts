/** An authoritative DNS server, on UDP and TCP. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { type Answer, respond } from './respond.ts';
import { sourceLimit } from './source-limit.ts';

export interface DnsServerOptions {
  answer: Answer;
  /** Address to listen on, IPv4 or IPv6. */
  host: string;
  /** The same for UDP and TCP. 0: one that is free for TCP. */
  port: number;
  /** Queries that are answered for each source network. Default 1,000: authorities look from few networks. */
  queriesPerSecond?: number;
  /** A TCP connection is closed when no query has come for so many milliseconds. Default 10,000. */
  idleMs?: number;
  /** Is told why a query could not be answered. */
  onError?: (error: unknown) => void;
}

export interface DnsServer {
  readonly port: number;
  stop(): Promise<void>;
}

const MOST_CONNECTIONS = 256;
/** One question with its options is shorter. */
const MOST_QUERY_BYTES = 4_096;
/** Before each message on TCP (RFC 1035, section 4.2.2). */
const LENGTH_BYTES = 2;

/** @throws if the port cannot be listened on */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const { answer, host, port, queriesPerSecond = 1_000, idleMs = 10_000, onError = () => undefined } = options;
  const isWithinLimit = sourceLimit(queriesPerSecond);
  const connections = new Set<Socket>();

  async function serve(socket: Socket): Promise<void> {
    const idle = setTimeout(() => socket.destroy(), idleMs);
    const source = socket.remoteAddress;
    try {
      for await (const query of messages(socket)) {
        idle.refresh();
        const response =
          source !== undefined && isWithinLimit(source)
            ? await respond(query, { answer, transport: 'tcp', onError })
            : undefined;
        if (!response) return;
        if (!socket.write(withLength(response))) await once(socket, 'drain');
      }
    } finally {
      clearTimeout(idle);
      socket.destroy();
    }
  }

  const tcp = createServer({ noDelay: true }, (socket) => {
    connections.add(socket);
    // Whatever ends a connection is the client's affair.
    serve(socket).then(
      () => connections.delete(socket),
      () => connections.delete(socket),
    );
  });
  tcp.maxConnections = MOST_CONNECTIONS;
  tcp.listen(port, host);
  await once(tcp, 'listening');
  const address = tcp.address();
  const bound = address !== null && typeof address === 'object' ? address.port : port;

  const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  udp.bind(bound, host);
  try {
    await once(udp, 'listening');
  } catch (error) {
    tcp.close();
    throw error;
  }
  let isStopped = false;
  udp.on('message', async (query, sender) => {
    if (!isWithinLimit(sender.address)) return;
    const response = await respond(query, { answer, transport: 'udp', onError });
    // Its sender may be gone, or never have existed.
    if (response && !isStopped) udp.send(response, sender.port, sender.address, () => undefined);
  });
  udp.on('error', onError);
  tcp.on('error', onError);

  return {
    port: bound,
    async stop() {
      isStopped = true;
      const closed = [once(udp, 'close'), once(tcp, 'close')];
      udp.close();
      tcp.close();
      for (const socket of connections) socket.destroy();
      await Promise.all(closed);
    },
  };
}

/** The messages of a connection; ends before one that is too long. @throws what ends the connection */
async function* messages(socket: Socket): AsyncGenerator<Buffer> {
  let received: Buffer = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk]);
    while (received.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + received.readUInt16BE(0);
      if (end > LENGTH_BYTES + MOST_QUERY_BYTES) return;
      if (received.length < end) break;
      yield received.subarray(LENGTH_BYTES, end);
      received = received.subarray(end);
    }
  }
}

function withLength(message: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}
