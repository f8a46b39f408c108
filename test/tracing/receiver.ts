/** An OTLP/HTTP receiver that keeps the spans it was sent. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Fields, hex, integer, messages, text } from './protobuf.ts';

export interface ReceivedSpan {
  service: unknown;
  traceId: string | undefined;
  spanId: string | undefined;
  parentId: string | undefined;
  name: string | undefined;
  kind: 'internal' | 'server' | 'client' | undefined;
  isError: boolean;
  attributes: Record<string, unknown>;
}

/** Accepts what it is sent, never answers, or answers like a web server that knows nothing about traces. */
export type Behaviour = 'takes' | 'hangs' | 'refuses with a page' | 'answers with a page';

export interface Receiver {
  url: string;
  port: number;
  behaviour: Behaviour;
  spans: ReceivedSpan[];
  requests: { path: string | undefined; headers: IncomingHttpHeaders; body: Buffer }[];
  close(): Promise<void>;
}

export async function startReceiver(port = 0): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    receiver.requests.push({ path: request.url, headers: request.headers, body });
    if (receiver.behaviour === 'hangs') return;
    if (receiver.behaviour !== 'takes') {
      response.statusCode = receiver.behaviour === 'answers with a page' ? 200 : 404;
      response.setHeader('content-type', 'text/html').end(`<html>${'x'.repeat(100_000)}</html>`);
      return;
    }
    receiver.spans.push(...spansOf(body));
    response.setHeader('content-type', 'application/x-protobuf').end();
  });
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    behaviour: 'takes',
    spans: [],
    requests: [],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
  return receiver;
}

const KINDS: Record<number, ReceivedSpan['kind']> = { 1: 'internal', 2: 'server', 3: 'client' };
const STATUS_ERROR = 2;

/** Reads an ExportTraceServiceRequest (opentelemetry/proto/trace/v1/trace.proto has the field numbers). */
function spansOf(body: Buffer): ReceivedSpan[] {
  return messages(new Map([[1, [body]]]), 1)
    .flatMap((request) => messages(request, 1))
    .flatMap((ofResource) => {
      const resource = attributesOf(messages(ofResource, 1)[0] ?? new Map(), 1);
      return messages(ofResource, 2)
        .flatMap((ofScope) => messages(ofScope, 2))
        .map((span) => spanOf(span, resource['service.name']));
    });
}

function spanOf(span: Fields, service: unknown): ReceivedSpan {
  return {
    service,
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentId: hex(span, 4) || undefined,
    name: text(span, 5),
    kind: KINDS[integer(span, 6) ?? 0],
    isError: messages(span, 15).some((status) => integer(status, 3) === STATUS_ERROR),
    attributes: attributesOf(span, 9),
  };
}

function attributesOf(fields: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(fields, number).map((pair) => [text(pair, 1), read(messages(pair, 2)[0] ?? new Map())]),
  );
}

function read(value: Fields): unknown {
  const list = messages(value, 5)[0];
  if (list) return messages(list, 1).map(read);
  return text(value, 1) ?? integer(value, 3) ?? integer(value, 2);
}
