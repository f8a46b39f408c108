/**
 * A reverse proxy in front of the management API and the API server, through which one operator sees both. It counts
 * the operator's calls and lets a test decide the outcome of each, and of the watches.
 */
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest, type RequestOptions, Agent as TlsAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { KubeConfig } from '@kubernetes/client-node';
import { stringify } from 'yaml';
import { WatchRelay } from './watch-relay.ts';

/** One call of the operator, watches and leader election left out. */
export interface Call {
  readonly target: 'api' | 'kube';
  readonly method: string;
  /** Without the query, except that of a dry run. */
  readonly path: string;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Instead of an answer: the connection breaks. */
export const CUT = Symbol('cut');

/** Decides the outcome of a call. The call takes effect each time `forward` is called. */
export type Fault = (call: Call, forward: () => Promise<Answer>) => Promise<Answer | typeof CUT>;

interface Upstream {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
}

const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'content-length'];

export class FaultProxy {
  /** Calls since the last `forget`. */
  readonly calls: Call[] = [];
  readonly watches = new WatchRelay();
  #fault: Fault | undefined;
  #inFlight = 0;
  readonly #listeners: Listener[] = [];
  #ports = { api: 0, kube: 0 };

  /** Starts one in front of the API at `apiUrl` and the cluster of `kubeconfig`. */
  static async start(apiUrl: string, kubeconfig: KubeConfig): Promise<FaultProxy> {
    const proxy = new FaultProxy();
    proxy.#ports = {
      api: await proxy.#listen('api', { url: new URL(apiUrl), headers: {}, agent: new Agent({ keepAlive: true }) }),
      kube: await proxy.#listen('kube', await clusterUpstream(kubeconfig)),
    };
    return proxy;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.#ports.api}`;
  }

  /** For the operator: the cluster behind this proxy, which presents our certificate for every client of its port. */
  get kubeconfig(): string {
    // The client library accepts plain http only if verification is turned off.
    const cluster = { server: `http://127.0.0.1:${this.#ports.kube}`, 'insecure-skip-tls-verify': true };
    return stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'proxied', cluster }],
      users: [{ name: 'proxied', user: {} }],
      contexts: [{ name: 'proxied', context: { cluster: 'proxied', user: 'proxied' } }],
      'current-context': 'proxied',
    });
  }

  /** Calls whose answer the operator is waiting for. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Until the next call of this, `fault` decides the outcome of calls; without one, everything is forwarded. */
  intercept(fault?: Fault): void {
    this.#fault = fault;
  }

  forget(): void {
    this.calls.length = 0;
  }

  async close(): Promise<void> {
    this.watches.cut();
    for (const listener of this.#listeners.splice(0)) await listener.close();
  }

  async #listen(target: Call['target'], upstream: Upstream): Promise<number> {
    const server = createServer((request, response) => {
      request.on('error', () => {});
      response.on('error', () => {});
      this.#serve(target, upstream, request, response).catch(() => response.destroy());
    });
    // If the proxy closed an idle connection just as the operator reuses it, that would be an unintended fault.
    server.keepAliveTimeout = 0;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    this.#listeners.push({
      close: () =>
        new Promise((resolve) => {
          upstream.agent.destroy();
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    });
    return (server.address() as AddressInfo).port;
  }

  async #serve(
    target: Call['target'],
    upstream: Upstream,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://proxy');
    const open = () => openUpstream(upstream, request);
    if (url.searchParams.get('watch') === 'true') return this.watches.relay(url, open, response);
    const body = await read(request);
    const forward = async () => toAnswer(await send(open(), body));
    // Do not count leader election, or polling for kinds that this cluster lacks.
    const { method = 'GET' } = request;
    const isLookingFor = method === 'GET' && /\/dnsendpoints$/.test(url.pathname);
    if (isLookingFor || /\/(leases|referencegrants)/.test(url.pathname)) return reply(response, await forward());

    const call: Call = {
      target,
      method,
      path: url.searchParams.has('dryRun') ? `${url.pathname}?dryRun=All` : url.pathname,
      body: body.toString(),
    };
    this.calls.push(call);
    this.#inFlight++;
    response.once('close', () => {
      this.#inFlight--;
    });
    // If the upstream is down, the operator sees a broken connection.
    const answer = await (this.#fault?.(call, forward) ?? forward()).catch(() => CUT);
    if (typeof answer === 'symbol' || response.destroyed) {
      response.destroy();
      return;
    }
    reply(response, answer);
  }
}

interface Listener {
  close(): Promise<void>;
}

async function clusterUpstream(kubeconfig: KubeConfig): Promise<Upstream> {
  const url = new URL(kubeconfig.getCurrentCluster()?.server ?? '');
  const options: RequestOptions = {};
  await kubeconfig.applyToHTTPSOptions(options);
  const { ca, cert, key, rejectUnauthorized } = options;
  const tls = { ca, cert, key, rejectUnauthorized: rejectUnauthorized ?? true };
  const headers = Object.entries(options.headers ?? {}).map(([name, value]) => [name, String(value)]);
  return { url, headers: Object.fromEntries(headers), agent: new TlsAgent({ keepAlive: true, ...tls }) };
}

/** A request to the upstream like the one that came in, without its body. */
function openUpstream({ url, headers, agent }: Upstream, { method, url: path = '/', headers: sent }: IncomingMessage) {
  const kept = Object.fromEntries(Object.entries(sent).filter(([name]) => name !== 'host' && !isHopByHop(name)));
  const make = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const target = new URL(path, url);
  return make(target, { method, agent, headers: { ...kept, ...headers } });
}

type Outgoing = ReturnType<typeof openUpstream>;

function send(outgoing: Outgoing, body: Buffer): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once('response', resolve).once('error', reject);
    if (body.length > 0) outgoing.setHeader('content-length', body.length);
    outgoing.end(body.length > 0 ? body : undefined);
  });
}

async function toAnswer(response: IncomingMessage): Promise<Answer> {
  return { status: response.statusCode ?? 502, headers: response.headers, body: await read(response) };
}

async function read(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function reply(response: ServerResponse, { status, headers, body }: Answer): void {
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !isHopByHop(name));
  response.writeHead(status, { ...Object.fromEntries(kept), 'content-length': body.length }).end(body);
}

function isHopByHop(name: string): boolean {
  return HOP_BY_HOP.includes(name.toLowerCase());
}
