/** Calls of the management API that every kind makes in the same way. */
import type { Client } from '../../client/client.ts';
import { isNotFound } from '../../client/errors.ts';

/** What the call answers, or undefined when there is no such resource: also for a delete, which is then done already. */
export async function ifExists<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Closes an idempotency key; the id of what was created under it and still exists. */
export async function closeKey(client: Client, idempotencyKey: string): Promise<string | undefined> {
  return (await client.closeIdempotencyKey(idempotencyKey)).resource_id ?? undefined;
}
