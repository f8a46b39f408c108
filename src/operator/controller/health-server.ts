/** `/metrics`, `/healthz` and `/readyz` of the operator. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import type { Registry } from 'prom-client';
import type { Readiness } from './readiness.ts';

const REACHED_AT: Readonly<Record<string, string>> = { '::': '[::1]', '0.0.0.0': '127.0.0.1' };

export interface HealthServerOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  registry: Registry;
  beforeScrape: () => void;
  readiness: () => Readiness;
}

export interface HealthServer {
  url: string;
  close(): Promise<void>;
}

/** @throws if the address cannot be bound */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const { host, registry, beforeScrape, readiness } = options;
  const server = createServer(async (request, response) => {
    const answer = (status: number, body: string, type = 'text/plain; charset=utf-8') => {
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    switch (request.url?.split('?')[0]) {
      case '/healthz':
        return answer(200, 'ok\n');
      case '/readyz': {
        const { problems, details } = readiness();
        const isReady = problems.length === 0;
        return answer(isReady ? 200 : 503, [...(isReady ? ['ok'] : problems), ...details, ''].join('\n'));
      }
      case '/metrics':
        beforeScrape();
        return answer(200, await registry.metrics(), registry.contentType);
      default:
        return answer(404, 'not found; try /metrics, /healthz or /readyz\n');
    }
  });
  await listen(server, options.port, host);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${REACHED_AT[host] ?? (isIPv6(host) ? `[${host}]` : host)}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve());
  });
}
