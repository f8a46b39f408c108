/**
 * The account at the authority, and how its orders are spread: Let's Encrypt allows an account 300 orders in three hours.
 * All processes share one row, so they share the allowance.
 */
import { z } from 'zod';
import { generateAccountKey } from '../../acme/jose.ts';
import { ACCOUNT_KEYS } from '../families/reserved-domain.ts';
import type { Secrets } from '../secrets/sealing.ts';
import type { Executor } from '../store/database.ts';

export interface OrderRate {
  /** Orders that may be placed one after the other. */
  burst: number;
  /** Time after which one more may be placed. */
  intervalMs: number;
}

export const LETS_ENCRYPT: OrderRate = { burst: 300, intervalMs: 36_000 };

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

/**
 * Reserves a place for one order; returns when it may be placed. The rate is that of a leaky bucket, kept as one time
 * (generic cell rate algorithm): each order moves it by the interval, and may be placed `burst` intervals earlier.
 */
export async function reserveOrder(
  db: Executor,
  id: string,
  now: Date,
  { burst, intervalMs }: OrderRate,
): Promise<Date> {
  const text = `
    update acme_accounts set next_order_at = greatest(next_order_at, $2::timestamptz) + $3 * interval '1 millisecond'
     where id = $1
    returning greatest($2::timestamptz, next_order_at - $4 * interval '1 millisecond') as "at"`;
  const [found] = await db.query({
    name: 'acme_accounts.reserve',
    text,
    values: [id, now, intervalMs, burst * intervalMs],
  });
  return reserved.parse(found).at;
}

const reserved = z.object({ at: z.string().transform((text) => new Date(text)) });
