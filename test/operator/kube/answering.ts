/**
 * An HTTP server that gives the answers of a test: as an API server, as one that fails, or as a proxy in front of it.
 * Only for test files; servers and clients are closed when the test ends.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { KubeConfig } from '@kubernetes/client-node';
import { onTestFinished } from 'vitest';
import { KubeApi } from '../../../src/operator/kube/kube-api.ts';
import type { KubeTransportOptions } from '../../../src/operator/kube/kube-transport.ts';

export interface Asked {
  /** Method, path and query: `GET /api/v1/events?limit=5`. */
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Tells connections apart. */
  readonly port: number | undefined;
}

/** Need not end the response. */
export type Answer = (response: ServerResponse, asked: Asked) => unknown;

interface Answering {
  readonly url: string;
  /** All requests so far. */
  readonly asked: Asked[];
  /** A client of this server. */
  connect(options?: Partial<KubeTransportOptions> & { readonly config?: KubeConfig }): KubeApi;
}

/** @param answers in their order; the last one is repeated */
export async function answering(...answers: Answer[]): Promise<Answering> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const { method, url, headers, socket } = request;
    const one = { line: `${method} ${url}`, headers, body: await text(request), port: socket.remotePort };
    asked.push(one);
    answers[Math.min(asked.length, answers.length) - 1]?.(response, one);
  });
  // The server closes no idle connection by itself.
  server.keepAliveTimeout = 3_600_000;
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return {
    url,
    asked,
    connect({ config = configFor(url), ...options } = {}) {
      const api = new KubeApi(config, { userAgent: 'tests', timeoutMs: 10_000, ...options });
      onTestFinished(() => api.close());
      return api;
    },
  };
}

export function configFor(server: string, user: object = {}): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: 'c', server, skipTLSVerify: true }, { name: 'u', ...user });
  return config;
}

export function json(body: unknown, status = 200): Answer {
  return (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** An error of the API server. */
export function refusal(code: number, reason = 'Any', more: object = {}): Answer {
  return json({ kind: 'Status', code, reason, message: `said ${code}`, ...more }, code);
}

/** An error of the management API. */
export const apiError = (error_code: string, status_code: number): Answer =>
  json({ error_code, status_code, msg: 'no', details: {} }, status_code);

/** Sends the parts, then nothing more. */
export function hanging(...parts: string[]): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    for (const part of parts) response.write(part);
  };
}

/** Sends the parts, then cuts the connection. */
export function cut(...parts: string[]): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    response.write(parts.join(''), () => response.destroy());
  };
}
