/** A TCP proxy in front of Postgres that breaks connections: at a chosen message, all at once, or by falling silent. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type Message, type Sender, WireReader } from './wire.ts';

/** The first message from this sender that does not arrive, counted from 0. */
export interface CutPoint {
  readonly sender: Sender;
  readonly index: number;
}

export class WireProxy {
  readonly #server: Server;
  readonly #links = new Set<Link>();
  readonly #database: string;
  #port: number;
  #watched: { point: CutPoint | undefined; messages: Message[] } | undefined;
  #frozen = false;
  /** Connections that a cut point has broken. */
  cuts = 0;

  private constructor(database: string) {
    this.#database = database;
    this.#port = portOf(database);
    this.#server = createServer((client) => {
      const link = new Link(client, this.#port, (message) => this.#verdict(message));
      this.#links.add(link);
      client.once('close', () => this.#links.delete(link));
      if (this.#frozen) link.freeze();
    });
  }

  /** @param upstream URL of a database on 127.0.0.1 */
  static async start(upstream: string): Promise<WireProxy> {
    const proxy = new WireProxy(upstream);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The URL of the database through this proxy. */
  get url(): string {
    const url = new URL(this.#database);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** Starts counting messages, also on connections that are already open, and breaks the connection at `point`. */
  watch(point?: CutPoint): void {
    this.#watched = { point, messages: [] };
  }

  /** Stops watching; returns the messages seen. */
  unwatch(): Message[] {
    const messages = this.#watched?.messages ?? [];
    this.#watched = undefined;
    return messages;
  }

  /** New connections go to another server on 127.0.0.1. */
  leadTo(url: string): void {
    this.#port = portOf(url);
  }

  cutAll(): void {
    for (const link of this.#links) link.cut();
  }

  /** Stops all traffic but closes nothing, like a pulled cable. New connections are accepted, and get no traffic. */
  freeze(): void {
    this.#frozen = true;
    for (const link of this.#links) link.freeze();
  }

  /** Resumes the traffic; data that was held back arrives. */
  thaw(): void {
    this.#frozen = false;
    for (const link of this.#links) link.thaw();
  }

  async close(): Promise<void> {
    this.cutAll();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #verdict(message: Message): Verdict {
    const watched = this.#watched;
    if (!watched) return 'pass';
    const { point, messages } = watched;
    const index = messages.filter(({ sender }) => sender === message.sender).length;
    messages.push(message);
    if (message.sender !== point?.sender || index < point.index) return 'pass';
    // Let the server finish, up to ReadyForQuery (Z), so that its effect is certain and only its response is lost.
    // During authentication (R) the server waits for the client, so there is nothing to finish.
    if (message.sender === 'server' && message.type !== 'Z' && message.type !== 'R') return 'drop';
    this.cuts++;
    this.#watched = undefined;
    return 'cut';
  }
}

const portOf = (url: string) => Number(new URL(url).port);

type Verdict = 'pass' | 'drop' | 'cut';

/** The connection of a client, and the one to the server that belongs to it. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;

  constructor(client: Socket, port: number, verdict: (message: Message) => Verdict) {
    this.#client = client.setNoDelay(true);
    this.#server = connect(port, '127.0.0.1').setNoDelay(true);
    const reader = new WireReader();
    const relay = (sender: Sender, from: Socket, to: Socket) => {
      from.on('error', () => {});
      from.on('close', () => to.end());
      from.on('data', (chunk: Buffer) => {
        for (const message of reader.read(sender, chunk)) {
          const decided = verdict(message);
          if (decided === 'pass') to.write(message.bytes);
          if (decided === 'cut') return this.cut();
        }
      });
    };
    relay('client', this.#client, this.#server);
    relay('server', this.#server, this.#client);
  }

  cut(): void {
    this.#client.removeAllListeners('data').destroy();
    // Forwarded data is still delivered; then the server sees the end of the stream.
    this.#server.removeAllListeners('data').resume().end();
  }

  freeze(): void {
    this.#client.pause();
    this.#server.pause();
  }

  thaw(): void {
    this.#client.resume();
    this.#server.resume();
  }
}
