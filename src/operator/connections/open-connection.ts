/** A connection in use: a client of its API, which makes no call before the key is known to be the right one. */
import type { Agent } from 'undici';
import type { Client } from '../../client/client.ts';
import { ApiClock } from '../../client/clock.ts';
import { REASON } from '../contract/reasons.ts';
import { ApiBudget } from '../controller/api-budget.ts';
import type { KubeObject } from '../kube/kube-object.ts';
import { Blocked } from '../managed/declaration/external.ts';
import { classify } from '../managed/object/failure.ts';
import type { ObjectConnection } from '../managed/object/object-connections.ts';
import { connectionStatus } from './connection-kinds.ts';
import type { Destination } from './connection-url.ts';

/** For the objects that use the connection. */
export const notReady = (key: string) =>
  new Blocked(REASON.connectionNotReady, `${key} is not Ready: its conditions say why`);

export interface ClientParts {
  url: string;
  agent: Agent;
  clock: ApiClock;
  budget: ApiBudget;
  /** As metrics name it. */
  connection: string;
  apiKey(): string;
  mayCall?(): Promise<void>;
  onTrouble?(): void;
  onInstallation?(id: string): void;
}

export interface OpenConnectionOptions {
  key: string;
  record: string;
  object: KubeObject;
  destination: Destination;
  /** Concurrent calls. */
  most: number;
  openClient(parts: ClientParts): Client;
  check: ConnectionCheck;
}

/** What a check has found out. */
export interface Checked {
  apiKey: string;
  installationId: string;
}

export interface ConnectionCheck {
  /** Makes sure that the connection can be used: its key, and whose it is. @throws what `classify` knows */
  check(connection: OpenConnection): Promise<Checked>;
  /** Has it checked again soon. */
  requeue(connection: OpenConnection): void;
}

export class OpenConnection implements ObjectConnection {
  readonly key: string;
  readonly record: string;
  readonly client: Client;
  readonly name: string;
  readonly isForeign: boolean;
  /** The newest version with the spec that it was opened for. */
  object: KubeObject;
  readonly #options: OpenConnectionOptions;
  readonly #clock = new ApiClock();
  readonly #budget: ApiBudget;
  #checked: Promise<void> | undefined;
  #isUsable = false;
  /** The last one that a check has found to be right. */
  #apiKey = '';
  #installation: string | undefined;

  constructor(options: OpenConnectionOptions) {
    this.#options = options;
    this.key = options.key;
    this.name = options.key;
    this.record = options.record;
    this.isForeign = !options.destination.isTrusted;
    this.object = options.object;
    this.#budget = new ApiBudget(options.most);
    this.client = options.openClient({
      ...this.#partsWith(() => this.#apiKey),
      mayCall: () => this.#usable(),
      onTrouble: () => options.check.requeue(this),
      onInstallation: (id) => this.#recognize(id),
    });
  }

  /** The owner is recorded before any other call. */
  get isUntried(): boolean {
    return this.#apiKey === '' && connectionStatus.safeParse(this.object.status).data?.owner === undefined;
  }

  /** Whether the last check has succeeded. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Checks the connection again. @throws what `classify` knows */
  check(): Promise<void> {
    this.#isUsable = false;
    const checking = this.#options.check.check(this).then(({ apiKey, installationId }) => {
      this.#apiKey = apiKey;
      this.#installation = installationId;
      this.#isUsable = true;
    });
    this.#checked = checking;
    // Calls that wait for it report the failure.
    checking.catch(() => undefined);
    return checking;
  }

  /** Who owns the key. No other call uses it before its check has succeeded. @throws ApiError, ApiUnreachableError */
  async whoami(apiKey: string): ReturnType<Client['whoami']> {
    return await this.#options.openClient(this.#partsWith(() => apiKey)).whoami();
  }

  /** The calls that wait fail for this reason. */
  close(why: Error): void {
    this.#budget.close(why);
  }

  /** Aborts the calls in flight. */
  async destroy(): Promise<void> {
    this.close(notReady(this.key));
    const { agent, isShared } = this.#options.destination;
    await this.client.destroy();
    if (!isShared) await agent.destroy();
  }

  #partsWith(apiKey: () => string): ClientParts {
    const { url, agent } = this.#options.destination;
    return { url, agent, apiKey, clock: this.#clock, budget: this.#budget, connection: this.key };
  }

  async #usable(): Promise<void> {
    try {
      await (this.#checked ?? this.check());
    } catch (error) {
      const failure = classify(error);
      // Somebody else has written the connection at the same time.
      if (failure.kind === 'stale') this.#checked = undefined;
      if (failure.kind !== 'terminal') throw error;
      throw notReady(this.key);
    }
  }

  #recognize(installation: string): void {
    if (this.#installation === undefined || installation === this.#installation) return;
    this.#options.check.requeue(this);
    throw new Error(`another installation of the management API answers (${installation})`);
  }
}
