/** Closing an idempotency key, so that whoever used it knows for certain what exists under it. */
import { closedIdempotencyKey, idempotencyDigestSchema } from '../../resources/definition/idempotency.ts';
import { FAMILIES } from '../../resources/families.ts';
import { close } from '../crud/idempotency.ts';
import { operation } from '../http/operation.ts';
import type { Executor } from '../store/database.ts';

export const closeIdempotencyKey = operation({
  method: 'PUT',
  path: '/idempotency_keys/{digest}/closed',
  operationId: 'closeIdempotencyKey',
  summary: 'Close an idempotency key',
  description:
    'From now on no create under the key takes effect, not even one that is in flight. The response names what ' +
    'was created under it and still exists. Keys belong to the calling user or bot. Closing again changes nothing.',
  tag: 'Idempotency keys',
  access: 'anyone',
  params: { digest: { schema: idempotencyDigestSchema, description: 'SHA-256 of the key, in lower-case hex.' } },
  success: { status: 200, description: 'The key is closed.', schema: closedIdempotencyKey },
  async handle({ caller, params: { digest }, base }, { db }) {
    const made = await close(db, caller.id, digest);
    const exists = made !== undefined && (await stillExists(db, made.id));
    return { body: { closed: true, resource: exists ? { id: made.id, uri: base + made.path } : null } };
  },
});

/** Tables by the prefix of the ids in them. */
const TABLES: ReadonlyMap<string, string> = new Map(FAMILIES.map(({ prefix, table }) => [prefix, table]));

/** Whether the resource that a record of a key names is there. */
export async function stillExists(db: Executor, id: string): Promise<boolean> {
  // A source has no id of its own: it is the type within its subscription.
  const [own = '', source] = id.split('/');
  const table = TABLES.get(own.slice(0, own.lastIndexOf('_')));
  if (table === undefined) return false;
  const text = `select 1 from ${table} where id = $1`;
  const rows = await db.query(
    source === undefined ? { text, values: [own] } : { text: `${text} and $2 = any(sources)`, values: [own, source] },
  );
  return rows.length > 0;
}
