/** Where connections may lead, and how they get there. */
import { X509Certificate } from 'node:crypto';
import type { Agent } from 'undici';
import { createAgent } from '../../client/transport.ts';
import { createAddressGuard } from '../../outbound/address-guard.ts';
import { hostLookup } from '../../outbound/host-lookup.ts';
import { CONNECTION_KIND } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { Blocked } from '../managed/declaration/external.ts';
import type { ConnectionKind, ConnectionSpec } from './connection-kinds.ts';

const CONNECT_MS = 10_000;

export interface Destination {
  url: string;
  agent: Agent;
  /** Whether other connections use the agent as well. */
  isShared: boolean;
  /** Whether an administrator has chosen the API, not a user of the cluster. */
  isTrusted: boolean;
}

export class ConnectionUrls {
  readonly #ownUrl: string;
  readonly #listed: ReadonlySet<string>;
  readonly #guard = createAddressGuard({
    networks: [],
    httpHosts: [],
    settings: { networks: '--connection-urls', httpHosts: '--connection-urls' },
  });
  readonly #resolve = hostLookup();
  /** To the operator's own URL. Unbounded, since each connection has a budget. */
  readonly ownAgent = createAgent({});

  /** @param listed URLs that APIConnections may have, besides public ones */
  constructor(ownUrl: string, listed: readonly string[]) {
    this.#ownUrl = ownUrl;
    this.#listed = new Set([ownUrl, ...listed].map(written));
  }

  /** @throws Blocked naming the member that is wrong */
  destinationOf(kind: ConnectionKind['kind'], { url = this.#ownUrl, caBundle }: ConnectionSpec): Destination {
    const parsed = new URL(url);
    const ca = caBundle === undefined ? undefined : certificatesIn(caBundle);
    // Administrators of the cluster write ClusterAPIConnections, and may call what they like.
    const isTrusted = kind === CONNECTION_KIND.shared || this.#listed.has(written(url));
    if (isTrusted && !ca && parsed.origin === new URL(this.#ownUrl).origin) {
      return { url, agent: this.ownAgent, isShared: true, isTrusted };
    }
    if (isTrusted) return { url, agent: createAgent({ connect: { ...(ca && { ca }) } }), isShared: false, isTrusted };
    const problem = this.#guard.refusalOfUrl(parsed);
    if (problem !== undefined) throw new Blocked(REASON.rejected, `spec.url ${problem}`);
    const connect = this.#guard.connector({ resolve: this.#resolve, timeoutMs: CONNECT_MS, ...(ca && { ca }) });
    return { url, agent: createAgent({ connect }), isShared: false, isTrusted };
  }

  async destroy(): Promise<void> {
    await this.ownAgent.destroy();
  }
}

const written = (url: string) => new URL(url).href.replace(/\/+$/, '');

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** @throws Blocked if there is anything else */
export function certificatesIn(pem: string): string[] {
  const found = pem.match(CERTIFICATE) ?? [];
  try {
    if (found.length === 0) throw new Error('none');
    for (const each of found) new X509Certificate(each);
    return found;
  } catch {
    throw new Blocked(REASON.rejected, 'spec.caBundle must consist of certificates in PEM');
  }
}
