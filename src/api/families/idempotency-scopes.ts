/** Reading and closing an idempotency scope: everything created in it, even if the keys are lost. */
import { idempotencyScope, idempotencyScopeDigestSchema } from '../../resources/definition/idempotency.ts';
import { IDEMPOTENCY } from '../../resources/scopes.ts';
import { existing } from '../crud/existing.ts';
import { closeScope, readScope, type Scope } from '../crud/idempotency-scopes.ts';
import { operation } from '../http/operation.ts';
import type { Executor } from '../store/database.ts';

const common = {
  tag: 'Idempotency keys',
  access: 'anyone',
  family: IDEMPOTENCY,
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
    'Returns the resources created in the scope that still exist. A scope that was never used is empty. Each user and ' +
    'bot has their own scopes.',
  success: { status: 200, description: 'The scope.', schema: idempotencyScope },
  handle: async ({ caller, params: { digest }, base }, { db }) => ({
    body: await show(db, await readScope(db, caller.principal, digest), base),
  }),
});

export const closeIdempotencyScope = operation({
  ...common,
  method: 'PUT',
  path: '/idempotency_scopes/{digest}/closed',
  operationId: 'closeIdempotencyScope',
  summary: 'Close an idempotency scope',
  description:
    'From now on, earlier creates in the scope no longer take effect, not even those in flight, and are not replayed. ' +
    'Creates from `next_sequence` on are possible. The response names the resources created in the scope that still ' +
    'exist. Each user and bot has their own scopes.',
  success: { status: 200, description: 'The scope is closed.', schema: idempotencyScope },
  handle: async ({ caller, params: { digest }, base }, { db }) => ({
    body: await show(db, await closeScope(db, caller.principal, digest), base),
  }),
});

async function show(db: Executor, { nextSequence, created }: Scope, base: string) {
  const present = await existing(
    db,
    created.map(({ id }) => id),
  );
  const resources = created
    .filter(({ id }) => present.has(id))
    .map(({ id, path, sequence }) => ({ id, uri: base + path, sequence }));
  return { next_sequence: nextSequence, resources };
}
