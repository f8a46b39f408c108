/** The scopes of API keys: which families a key may read, or read and change. A key without any may do what its owner may. */
import type { Refusal } from './definition/errors.ts';
import { eventLog } from './event.ts';
import { eventDelivery } from './event-delivery.ts';
import { FAMILIES } from './families.ts';

/** What no family has: an owner's idempotency keys and scopes. */
export const IDEMPOTENCY = 'idempotency_keys';

/** By the names of their tables, which also tell apart the two families of backends. */
export const SCOPED: readonly string[] = [
  ...FAMILIES.map(({ table }) => table),
  eventLog.table,
  eventDelivery.table,
  IDEMPOTENCY,
].sort();

const READ_ALL = '*:read';

/** The scope that an operation needs, as in `ip_policies:write`. */
export const scopeOf = (family: string, isWrite: boolean) => `${family}:${isWrite ? 'write' : 'read'}`;

/** Whether these scopes include another one. */
export function includes(scopes: readonly string[], scope: string): boolean {
  if (scopes.includes(scope)) return true;
  const [family = '', access] = scope.split(':');
  return access === 'read' && (scopes.includes(READ_ALL) || scopes.includes(scopeOf(family, true)));
}

/** Why this is no scope, if it is none. */
export function scopeProblem(scope: string): Refusal | undefined {
  if (scope === READ_ALL || SCOPED.includes(scope.slice(0, scope.indexOf(':')))) return undefined;
  const fixed = 'is not a scope';
  return { reason: `${fixed}: must be ${READ_ALL}, or :read or :write after one of ${SCOPED.join(', ')}`, fixed };
}
