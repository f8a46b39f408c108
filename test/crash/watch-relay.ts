/** Relays the watches of one operator through the proxy, with the faults that a test asks for. */
import type { ClientRequest, ServerResponse } from 'node:http';

/** The fault of a new watch: `refuse` is 503, `gone` says that its version is too old. */
type WatchFault = 'refuse' | 'gone';

interface Stream {
  readonly path: string;
  readonly response: ServerResponse;
  /** Complete lines that wait to be delivered. */
  readonly held: string[];
  /** It delivers nothing more, without an error. */
  silent: boolean;
}

const GONE = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message: 'too old resource version: 1 (2)',
  reason: 'Expired',
  code: 410,
};

export class WatchRelay {
  readonly #streams = new Set<Stream>();
  #isHeld: (path: string) => boolean = () => false;
  #atStart: ((path: string) => WatchFault | undefined) | undefined;
  /** Watches begun, refused ones included. */
  begun = 0;

  /** Watches that are open. */
  get open(): number {
    return this.#streams.size;
  }

  /** Decides about watches that begin from now on. */
  atStart(fault?: (path: string) => WatchFault | undefined): void {
    this.#atStart = fault;
  }

  /** Breaks the connections of all watches. */
  cut(): void {
    for (const { response } of this.#streams) response.destroy();
  }

  /** Open watches stay open but deliver nothing more, not even bookmarks. New ones are not affected. */
  silence(): void {
    for (const stream of this.#streams) stream.silent = true;
  }

  /** Holds back everything until `release`, on new watches as well; `which` picks watches by their path. */
  hold(which: (path: string) => boolean = () => true): void {
    this.#isHeld = which;
  }

  /** Delivers what was held back, in order. */
  release(): void {
    this.#isHeld = () => false;
    for (const { response, held } of this.#streams) for (const line of held.splice(0)) response.write(line);
  }

  relay(url: URL, open: () => ClientRequest, response: ServerResponse): void {
    // Other tests decide whether the cluster has these kinds.
    const isOptional = /\/(dnsendpoints|referencegrants)$/.test(url.pathname);
    const stream: Stream = { path: url.pathname, response, held: [], silent: false };
    if (!isOptional) {
      this.begun++;
      const fault = this.#atStart?.(url.pathname);
      if (fault !== undefined) {
        answerFault(response, fault);
        return;
      }
      this.#streams.add(stream);
    }
    const upstream = open();
    response.once('close', () => {
      this.#streams.delete(stream);
      upstream.destroy();
    });
    upstream.once('error', () => response.destroy());
    upstream.once('response', (incoming) => {
      response.writeHead(incoming.statusCode ?? 502, { 'content-type': 'application/json' });
      response.flushHeaders();
      let rest = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        const lines = (rest + chunk).split(/(?<=\n)/);
        rest = lines.at(-1)?.endsWith('\n') ? '' : (lines.pop() ?? '');
        for (const line of lines) this.#deliver(stream, line);
      });
      incoming.once('error', () => response.destroy());
      incoming.once('end', () => {
        // A refusal is a body without a line break.
        if (rest !== '') response.write(rest);
        if (!stream.silent) response.end();
      });
    });
    upstream.end();
  }

  #deliver(stream: Stream, line: string): void {
    if (stream.silent) return;
    if (this.#isHeld(stream.path)) stream.held.push(line);
    else stream.response.write(line);
  }
}

function answerFault(response: ServerResponse, fault: WatchFault): void {
  switch (fault) {
    case 'refuse':
      response.writeHead(503, { 'content-type': 'text/plain' }).end('nobody is here');
      break;
    case 'gone':
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`${JSON.stringify({ type: 'ERROR', object: GONE })}\n`);
      break;
  }
}
