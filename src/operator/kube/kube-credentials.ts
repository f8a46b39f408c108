/** The credentials and connections for the Kubernetes API, kept up to date. */
import { HttpMethod, type KubeConfig, RequestContext } from '@kubernetes/client-node';
import { Agent, type Dispatcher } from 'undici';
import { withoutCachedTokens } from './kube-config.ts';

export interface Credentials {
  readonly headers: Record<string, string>;
  readonly dispatcher: Dispatcher;
}

/** Tokens of service accounts and exec plugins expire; they are read again after this long. */
const KEPT_MS = 30_000;

export class KubeCredentials {
  readonly #server: string;
  readonly #dispatchers = new Set<Dispatcher>();
  #config: KubeConfig;
  #current: Credentials | undefined;
  #renewAt = 0;
  #isRefused = false;
  #isClosed = false;
  #renewing: Promise<Credentials> | undefined;

  constructor(config: KubeConfig, server: string) {
    // Any KubeConfig becomes one of ours, so that it connects by HTTP/1.1.
    this.#config = withoutCachedTokens(config);
    this.#server = server;
  }

  /** @throws Error when closed: a renewal would open connections that no one closes */
  async get(): Promise<Credentials> {
    this.#assertOpen();
    if (this.#current && this.#renewAt > Date.now()) return this.#current;
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  /**
   * The server answered 401 to these: the next call reads the credentials again and reconnects. Of several calls refused
   * together, only the first counts.
   */
  refused(credentials: Credentials): void {
    if (credentials !== this.#current) return;
    this.#isRefused = true;
    this.#renewAt = 0;
    this.#config = withoutCachedTokens(this.#config);
  }

  /** Closes every connection at once, for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#dispatchers].map((dispatcher) => dispatcher.destroy()));
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error('the client is closed');
  }

  async #renew(): Promise<Credentials> {
    const context = new RequestContext(this.#server, HttpMethod.GET);
    const known = this.#current;
    try {
      await this.#config.applySecurityAuthentication(context);
    } catch (error) {
      // A file that is being replaced, or a credential program that fails: what we have may still be accepted.
      if (known) return known;
      // The error quotes what the program printed, which may be a token.
      throw error instanceof SyntaxError ? new Error('the credential program did not print JSON') : error;
    }
    this.#assertOpen();
    // A client certificate belongs to the connection, and with a 401 the API server ends the connection (GOAWAY).
    const kept = this.#isRefused ? undefined : known?.dispatcher;
    const dispatcher = kept ?? context.getDispatcher() ?? new Agent({ allowH2: false });
    if (known && !kept) void this.#retire(known.dispatcher);
    this.#isRefused = false;
    this.#dispatchers.add(dispatcher);
    this.#current = { headers: context.getHeaders(), dispatcher };
    this.#renewAt = Date.now() + KEPT_MS;
    return this.#current;
  }

  /** Lets the calls and watches in progress finish. */
  async #retire(dispatcher: Dispatcher): Promise<void> {
    await dispatcher.close();
    this.#dispatchers.delete(dispatcher);
  }
}
