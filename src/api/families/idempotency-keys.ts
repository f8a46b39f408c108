/** Closing an idempotency key, after which a client knows for certain what was created under it. */
import { closedIdempotencyKey, idempotencyDigestSchema } from '../../resources/definition/idempotency.ts';
import { IDEMPOTENCY } from '../../resources/scopes.ts';
import { existing } from '../crud/existing.ts';
import { close } from '../crud/idempotency.ts';
import { operation } from '../http/operation.ts';

export const closeIdempotencyKey = operation({
  method: 'PUT',
  path: '/idempotency_keys/{digest}/closed',
  operationId: 'closeIdempotencyKey',
  summary: 'Close an idempotency key',
  description:
    'From now on, no create under the key takes effect, not even one in flight. The response names the resource created ' +
    'under the key, if it still exists. Each user and bot has their own keys. Closing a key again changes nothing.',
  tag: 'Idempotency keys',
  access: 'anyone',
  family: IDEMPOTENCY,
  params: { digest: { schema: idempotencyDigestSchema, description: 'SHA-256 of the key, in lower-case hex.' } },
  success: { status: 200, description: 'The key is closed.', schema: closedIdempotencyKey },
  async handle({ caller, params: { digest }, base }, { db }) {
    const made = await close(db, caller.principal, digest);
    const exists = made !== undefined && (await existing(db, [made.id])).has(made.id);
    return { body: { closed: true, resource: exists ? { id: made.id, uri: base + made.path } : null } };
  },
});
