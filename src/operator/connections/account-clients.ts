/** The connections that are Accounts: clients with the operator's own key that make each call in the account. */
import type { Client } from '../../client/client.ts';
import type { ObjectConnection } from '../managed/object/object-connections.ts';

export interface AccountConnection {
  /** As metrics name it. */
  key: string;
  record: string;
  account: string;
}

/** A client of one account. */
export interface AccountClient {
  client: Client;
  /** The calls that wait fail for this reason. */
  close(why: Error): void;
}

export class AccountClients {
  readonly #openClient: (connection: AccountConnection) => AccountClient;
  readonly #open = new Map<string, AccountClient & { connection: ObjectConnection }>();

  constructor(openClient: (connection: AccountConnection) => AccountClient) {
    this.#openClient = openClient;
  }

  /** The same object for the same account. */
  of(connection: AccountConnection): ObjectConnection {
    const { key, record } = connection;
    const known = this.#open.get(key);
    if (known?.connection.record === record) return known.connection;
    const opened = this.#openClient(connection);
    const made = { ...opened, connection: { key, record, client: opened.client } };
    this.#open.set(key, made);
    if (known) void known.client.destroy();
    return made.connection;
  }

  drop(key: string): void {
    const known = this.#open.get(key);
    this.#open.delete(key);
    void known?.client.destroy();
  }

  close(why: Error): void {
    for (const each of this.#open.values()) each.close(why);
  }

  /** Aborts the calls in flight. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ client }) => client.destroy()));
  }
}
