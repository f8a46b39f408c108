/** The certificate authority of this installation, and the account there. */

import type { AcmeClient } from '../../acme/client.ts';
import { AcmeError } from '../../acme/errors.ts';
import { type ExternalAccount, readAccountKey } from '../../acme/jose.ts';
import type { Account } from '../../acme/transport.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Database } from '../store/database.ts';
import { readAccount, rememberAccount } from './account.ts';
import { type OrderRate, reserveOrder } from './order-slots.ts';

export interface AuthorityOptions {
  client: AcmeClient;
  directoryUrl: string;
  /** Mail addresses of those who run this installation, as `mailto:` URLs. */
  contacts: readonly string[];
  external: ExternalAccount | undefined;
  rate: OrderRate;
}

export interface Authority {
  readonly client: AcmeClient;
  readonly directoryUrl: string;
  /** The account; registers it first if the authority does not know it. @throws AcmeError */
  account(): Promise<Account>;
  /** The authority has lost the account: it is registered again. */
  forgetAccount(): Promise<void>;
  /** Reserves a place for one order; returns when it may be placed. */
  reserveOrder(now: Date): Promise<Date>;
}

export function createAuthority(
  db: Database,
  secrets: Secrets,
  { client, directoryUrl, contacts, external, rate }: AuthorityOptions,
): Authority {
  const id = external ? `${directoryUrl}#${external.keyId}` : directoryUrl;
  return {
    client,
    directoryUrl,
    async account() {
      const { keyPem, url } = await readAccount(db, secrets, id);
      const key = readAccountKey(keyPem);
      if (url !== null) return { key, url };
      const registered = await client.register(key, { contacts, external });
      await rememberAccount(db, id, registered);
      return { key, url: registered };
    },
    forgetAccount: () => rememberAccount(db, id, null),
    async reserveOrder(now) {
      await readAccount(db, secrets, id);
      return reserveOrder(db, id, now, rate);
    },
  };
}

/** Whether an error says that the account is unknown. */
export const lacksAccount = (error: unknown) => error instanceof AcmeError && error.type === 'accountDoesNotExist';
