/** The account at the authority, of which all processes share one. */
import { z } from 'zod';
import { generateAccountKey } from '../../acme/jose.ts';
import { ACCOUNT_KEYS } from '../families/reserved-domain.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Executor } from '../store/database.ts';

const account = z.object({ private_key: z.string(), url: z.string().nullable() });

/** The account of this installation; makes its key if there is none. */
export async function readAccount(db: Executor, secrets: Secrets, id: string) {
  const location = { table: ACCOUNT_KEYS.table, id, field: ACCOUNT_KEYS.column };
  const read = {
    name: 'acme_accounts.get',
    text: 'select private_key, url from acme_accounts where id = $1',
    values: [id],
  };
  let [found] = await db.query(read);
  if (!found) {
    // Of several processes, one makes the key that counts.
    const text = 'insert into acme_accounts (id, private_key) values ($1, $2) on conflict do nothing';
    await db.query({ text, values: [id, secrets.seal(generateAccountKey(), location)] });
    [found] = await db.query(read);
  }
  const { private_key: sealed, url } = account.parse(found);
  return { keyPem: secrets.open(sealed, location), url };
}

export async function rememberAccount(db: Executor, id: string, url: string | null): Promise<void> {
  await db.query({ text: 'update acme_accounts set url = $2 where id = $1', values: [id, url] });
}
