/**
 * How orders are spread: Let's Encrypt allows an account 300 of them in three hours. All processes share one row, so they
 * share the allowance.
 */
import { z } from 'zod';
import type { Executor } from '../store/database.ts';

export interface OrderRate {
  /** Orders that may be placed one after the other. */
  burst: number;
  /** Time after which one more may be placed. */
  intervalMs: number;
}

export const LETS_ENCRYPT: OrderRate = { burst: 300, intervalMs: 36_000 };

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
