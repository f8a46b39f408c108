/** Finding and closing everything that was created in an idempotency scope, whatever became of the keys. */
import { idempotencyScope, idempotencyScopeDigestSchema } from '../../resources/definition/idempotency.ts';
import { existing } from '../crud/existing.ts';
import { closeScope, readScope, type Scope } from '../crud/idempotency-scopes.ts';
import { operation } from '../http/operation.ts';
import type { Executor } from '../store/database.ts';

const common = {
  tag: 'Idempotency keys',
  access: 'anyone',
  params: {
    digest: { schema: idempotencyScopeDigestSchema, description: "SHA-256 of the scope's name, in lower-case hex." },
  },
} as const;

export const getIdempotencyScope = operation({
  ...common,
  method: 'GET',
  path: '/idempotency_scopes/{digest}',
  operationId: 'getIdempotencyScope',
  summary: 'Get an idempotency scope',
  description:
    'What was created in the scope and still exists. A scope that was never used is empty. Scopes belong to the ' +
    'calling user or bot.',
  success: { status: 200, description: 'The scope.', schema: idempotencyScope },
  handle: async ({ caller, params: { digest }, base }, { db }) => ({
    body: await show(db, await readScope(db, caller.id, digest), base),
  }),
});

export const closeIdempotencyScope = operation({
  ...common,
  method: 'PUT',
  path: '/idempotency_scopes/{digest}/closed',
  operationId: 'closeIdempotencyScope',
  summary: 'Close an idempotency scope',
  description:
    'From now on no create in the scope takes effect that has begun before, not even one that is in flight, and none ' +
    'is replayed. Creates with `next_sequence` and beyond remain possible. The response names what was created in the ' +
    'scope and still exists. Scopes belong to the calling user or bot.',
  success: { status: 200, description: 'The scope is closed.', schema: idempotencyScope },
  handle: async ({ caller, params: { digest }, base }, { db }) => ({
    body: await show(db, await closeScope(db, caller.id, digest), base),
  }),
});

async function show(db: Executor, { nextSequence, created }: Scope, base: string) {
  const there = await existing(
    db,
    created.map(({ id }) => id),
  );
  const resources = created
    .filter(({ id }) => there.has(id))
    .map(({ id, path, sequence }) => ({ id, uri: base + path, sequence }));
  return { next_sequence: nextSequence, resources };
}
