/** An authoritative DNS server, on UDP and TCP. */
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { type Answer, respond, truncated } from './respond.ts';
import { networkOf, sourceLimit } from './source-limit.ts';

export interface DnsServerOptions {
  answer: Answer;
  /** Address to listen on, IPv4 or IPv6. */
  host: string;
  /** The same for UDP and TCP. 0: one that is free for TCP. */
  port: number;
  /**
   * Queries that are answered for each source network and transport. Default 1,000: authorities look from few networks. Beyond
   * them, UDP is answered without records, so that resolvers turn to TCP.
   */
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
const MOST_OF_NETWORK = 32;
/** The longest life of a connection, in times that it may be idle. */
const LIFE = 6;
/** One question with its options is shorter. */
const MOST_QUERY_BYTES = 4_096;
/** Before each message on TCP (RFC 1035, section 4.2.2). */
const LENGTH_BYTES = 2;

/** @throws if the port cannot be listened on */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const { answer, host, port, queriesPerSecond = 1_000, idleMs = 10_000, onError = () => undefined } = options;
  // Counted apart: the sender of a UDP packet may be forged, and must not silence those who ask over TCP.
  const limits = { udp: sourceLimit(queriesPerSecond), tcp: sourceLimit(queriesPerSecond) };
  const connections = new Map<Socket, string>();

  async function serve(socket: Socket): Promise<void> {
    const idle = setTimeout(() => socket.destroy(), idleMs);
    const life = setTimeout(() => socket.destroy(), idleMs * LIFE);
    const source = socket.remoteAddress;
    const closed = new AbortController();
    socket.once('close', () => closed.abort());
    try {
      for await (const query of messages(socket)) {
        idle.refresh();
        const response =
          source !== undefined && limits.tcp(source)
            ? await respond(query, { answer, transport: 'tcp', onError })
            : undefined;
        if (!response) return;
        if (!socket.write(withLength(response))) await once(socket, 'drain', { signal: closed.signal });
      }
    } finally {
      clearTimeout(idle);
      clearTimeout(life);
      socket.destroy();
    }
  }

  const tcp = createServer({ noDelay: true }, (socket) => {
    const network = networkOf(socket.remoteAddress ?? '');
    const ofNetwork = connections.values().filter((each) => each === network);
    if ([...ofNetwork].length >= MOST_OF_NETWORK) return void socket.destroy();
    connections.set(socket, network);
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
  async function answerUdp(query: Buffer, { address, port: from }: RemoteInfo): Promise<void> {
    // Nobody can be answered at port 0.
    if (from === 0) return;
    const response = limits.udp(address)
      ? await respond(query, { answer, transport: 'udp', onError })
      : truncated(query);
    // Its sender may be gone, or never have existed.
    if (response && !isStopped) udp.send(response, from, address, () => undefined);
  }
  udp.on('message', (query, sender) => {
    answerUdp(query, sender).catch(onError);
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
      for (const socket of connections.keys()) socket.destroy();
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
