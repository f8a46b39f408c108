/** The credentials and connections for the Kubernetes API, kept up to date. */
import { HttpMethod, type KubeConfig, RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';

export interface Credentials {
  readonly headers: Record<string, string>;
  readonly dispatcher: Dispatcher;
}

/** Tokens of service accounts and exec plugins expire; they are read again after this long. */
const KEPT_MS = 30_000;

export class KubeCredentials {
  readonly #config: KubeConfig;
  readonly #server: string;
  readonly #dispatchers = new Set<Dispatcher>();
  #current: Credentials | undefined;
  #renewAt = 0;
  #renewing: Promise<Credentials> | undefined;
  #refusals = 0;

  constructor(config: KubeConfig, server: string) {
    this.#config = config;
    this.#server = server;
  }

  async get(): Promise<Credentials> {
    if (this.#current && this.#renewAt > Date.now()) return this.#current;
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  accepted(): void {
    this.#refusals = 0;
  }

  /** The server answered 401: the next call reads the credentials again, and from the second 401 on also reconnects. */
  refused(): void {
    this.#refusals++;
    this.#renewAt = 0;
  }

  /** Closes every connection at once. */
  async close(): Promise<void> {
    await Promise.all([...this.#dispatchers].map((dispatcher) => dispatcher.destroy()));
  }

  async #renew(): Promise<Credentials> {
    const context = new RequestContext(this.#server, HttpMethod.GET);
    await this.#config.applySecurityAuthentication(context);
    // A client certificate belongs to the connection; connect anew only if the old certificate may be the cause.
    const kept = this.#refusals < 2 ? this.#current?.dispatcher : undefined;
    const dispatcher = kept ?? context.getDispatcher() ?? new Agent();
    this.#dispatchers.add(dispatcher);
    this.#current = { headers: context.getHeaders(), dispatcher };
    this.#renewAt = Date.now() + KEPT_MS;
    return this.#current;
  }
}
