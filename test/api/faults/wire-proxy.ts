/** A TCP proxy in front of Postgres that breaks connections: at a chosen message, all at once, or by falling silent. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type Message, type Sender, WireReader } from './wire.ts';

/** The first message of this sender, counted from 0, that does not arrive any more. */
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

  /** The database as seen through here. */
  get url(): string {
    const url = new URL(this.#database);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** From now on messages are counted, and the connection breaks at `point`; whoever is connected then stays watched. */
  watch(point?: CutPoint): void {
    this.#watched = { point, messages: [] };
  }

  /** Ends watching; returns what came. */
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

  /** Nothing arrives any more, and nobody is told, as when a cable is pulled. New connections are taken, and silent too. */
  freeze(): void {
    this.#frozen = true;
    for (const link of this.#links) link.freeze();
  }

  /** What was on its way arrives. */
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
    // The server is to finish what it was asked, so that what it has done is certain: only its answer is lost. While
    // it authenticates (R), it waits for answers itself.
    if (message.sender === 'server' && message.type !== 'Z' && message.type !== 'R') return 'drop';
    this.cuts++;
    this.#watched = undefined;
    return 'cut';
  }
}

const portOf = (url: string) => Number(new URL(url).port);

type Verdict = 'pass' | 'drop' | 'cut';

/** One connection of a client, and ours for it. */
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
    // What was forwarded is still delivered; then the server sees the end.
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
