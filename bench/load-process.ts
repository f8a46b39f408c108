/**
 * Generates load with one request over kept-alive connections, one request at a time on each. Uses plain sockets, since
 * on a small machine a client library would take processor time away from what is measured.
 */
import { connect } from 'node:net';
import { fillTemplate, type Lists } from './template.ts';

export interface LoadOrder {
  url: string;
  method: string;
  /** Path and body are templates. */
  path: string;
  body?: string | undefined;
  lists?: Lists;
  /** Number of the first request. */
  from?: number;
  key: string;
  connections: number;
  /** Ends after this many milliseconds, or this many requests. */
  ms: number;
  requests?: number;
}

process.on('message', async (order: LoadOrder) => process.send?.(await load(order)));

async function load(order: LoadOrder) {
  const { from = 0, requests = Number.POSITIVE_INFINITY } = order;
  const latencies: number[] = [];
  const failures: string[] = [];
  let sent = 0;
  const started = performance.now();
  const deadline = started + order.ms;
  const requestOf = numbered(order);

  const connection = () =>
    new Promise<void>((done, failed) => {
      const { hostname, port } = new URL(order.url);
      let sentAt = 0;
      let received = Buffer.alloc(0);
      const socket = connect(Number(port), hostname, next).setNoDelay();
      function next() {
        sentAt = performance.now();
        if (sentAt >= deadline || sent >= requests) socket.end();
        else socket.write(requestOf(from + sent++));
      }
      socket.on('data', (chunk) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        const size = responseSize(received);
        if (size === undefined || received.length < size) return;
        latencies.push(performance.now() - sentAt);
        // "HTTP/1.1 2": the tenth byte is the first digit of the status.
        if (received[9] !== 0x32) failures.push(received.toString('utf8', 0, 1000));
        received = Buffer.alloc(0);
        next();
      });
      socket.on('error', failed).on('close', () => done());
    });

  await Promise.all(Array.from({ length: order.connections }, connection));
  const seconds = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  const quantile = (part: number) => latencies[Math.floor(latencies.length * part)] ?? 0;
  const failure = failures[0] ?? null;
  return {
    requests: latencies.length,
    seconds,
    p50: quantile(0.5),
    p99: quantile(0.99),
    failures: failures.length,
    failure,
  };
}

/** The bytes of the n-th request. */
function numbered({ url, method, path, key, body, lists = {} }: LoadOrder): (n: number) => Buffer {
  const { host } = new URL(url);
  const one = (n: number) => {
    const payload = body === undefined ? undefined : fillTemplate(body, n, lists);
    const head = [
      `${method} ${fillTemplate(path, n, lists)} HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${key}`,
      ...(payload === undefined
        ? []
        : ['content-type: application/json', `content-length: ${Buffer.byteLength(payload)}`]),
    ];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${payload ?? ''}`);
  };
  const always = fillTemplate(path, 0, lists) === path && body === undefined ? one(0) : undefined;
  return (n) => always ?? one(n);
}

/** The length of the response at the start of the buffer, once its head is complete. */
function responseSize(received: Buffer): number | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const length = /content-length: (\d+)/i.exec(received.toString('latin1', 0, end))?.[1];
  return end + 4 + Number(length ?? 0);
}
