/**
 * Load of one kind of request over kept-alive connections, one request at a time on each. It uses plain sockets, since on
 * a small machine a client library would take processor time from the server under measurement.
 */
import { connect } from 'node:net';
import { fill, namesIn } from '../dev/fixtures/placeholders.ts';
import { numbered } from '../dev/fixtures/samples.ts';

export interface LoadOrder {
  url: string;
  method: string;
  /** Path and body may contain the placeholders of samples. Their values need no escaping in JSON. */
  path: string;
  body?: string | undefined;
  /** Values of placeholders other than numbers: each request takes the next item of every list, cyclically. */
  lists?: Readonly<Record<string, readonly object[]>>;
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
  let bytes = 0;
  let lastAnswer = '';
  const started = performance.now();
  const cpuBefore = process.cpuUsage();
  const deadline = started + order.ms;
  const requestOf = requestsOf(order);

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
        if (size === undefined || received.length < size.head + size.body) return;
        bytes += size.body;
        if (sent === requests) lastAnswer = received.toString('utf8', size.head);
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
  const { user, system } = process.cpuUsage(cpuBefore);
  latencies.sort((a, b) => a - b);
  const quantile = (part: number) => latencies[Math.floor(latencies.length * part)] ?? 0;
  const failure = failures[0] ?? null;
  return {
    requests: latencies.length,
    bytes,
    lastAnswer,
    seconds,
    p50: quantile(0.5),
    p99: quantile(0.99),
    cpu: user + system,
    failures: failures.length,
    failure,
  };
}

/** The bytes of the n-th request. */
function requestsOf({ url, method, path, key, body, lists = {} }: LoadOrder): (n: number) => Buffer {
  const { host } = new URL(url);
  const one = (n: number) => {
    const members = Object.entries(lists).map(([name, list]) => [name, list[n % list.length]] as const);
    const values = { ...numbered(n), ...Object.fromEntries(members) };
    const payload = body === undefined ? undefined : fill(body, values);
    const head = [
      `${method} ${fill(path, values)} HTTP/1.1`,
      `host: ${host}`,
      `authorization: Bearer ${key}`,
      ...(payload === undefined
        ? []
        : ['content-type: application/json', `content-length: ${Buffer.byteLength(payload)}`]),
    ];
    return Buffer.from(`${head.join('\r\n')}\r\n\r\n${payload ?? ''}`);
  };
  const always = namesIn(path).length === 0 && body === undefined ? one(0) : undefined;
  return (n) => always ?? one(n);
}

/** Bytes of head and body of the response that starts the buffer, once its head is complete. */
function responseSize(received: Buffer): { head: number; body: number } | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const length = /content-length: (\d+)/i.exec(received.toString('latin1', 0, end))?.[1];
  return { head: end + 4, body: Number(length ?? 0) };
}
