/**
 * Load of one kind of request over kept-alive connections, one request at a time on each. Over plain sockets, since on
 * a small machine a client library takes processor time away from what is measured.
 */
import { connect } from 'node:net';

export interface LoadOrder {
  url: string;
  method: 'GET' | 'POST';
  path: string;
  body?: string;
  key: string;
  connections: number;
  ms: number;
}

process.once('message', async (order: LoadOrder) => {
  process.send?.(await load(order));
  process.disconnect();
});

async function load(order: LoadOrder) {
  const latencies: number[] = [];
  let failures = 0;
  const started = performance.now();
  const deadline = started + order.ms;
  const request = requestBytes(order);

  const connection = () =>
    new Promise<void>((done, failed) => {
      const { hostname, port } = new URL(order.url);
      let sent = 0;
      let received = Buffer.alloc(0);
      const socket = connect(Number(port), hostname, next).setNoDelay();
      function next() {
        sent = performance.now();
        if (sent >= deadline) socket.end();
        else socket.write(request);
      }
      socket.on('data', (chunk) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        const size = responseSize(received);
        if (size === undefined || received.length < size) return;
        latencies.push(performance.now() - sent);
        // "HTTP/1.1 2": the tenth byte is the first digit of the status.
        if (received[9] !== 0x32) failures++;
        received = Buffer.alloc(0);
        next();
      });
      socket.on('error', failed).on('close', () => done());
    });

  await Promise.all(Array.from({ length: order.connections }, connection));
  const seconds = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  return { requests: latencies.length, seconds, p99: latencies[Math.floor(latencies.length * 0.99)] ?? 0, failures };
}

function requestBytes({ url, method, path, key, body }: LoadOrder): Buffer {
  const payload =
    body === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`];
  const head = [`${method} ${path} HTTP/1.1`, `host: ${new URL(url).host}`, `authorization: Bearer ${key}`, ...payload];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`);
}

/** Bytes of the response that starts the buffer, once its head is complete. */
function responseSize(received: Buffer): number | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const length = /content-length: (\d+)/i.exec(received.toString('latin1', 0, end))?.[1];
  return end + 4 + Number(length ?? 0);
}
