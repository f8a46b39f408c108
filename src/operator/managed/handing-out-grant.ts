/**
 * Whose keys may be handed out. Otherwise anybody who may write objects in a namespace and read its Secrets could get the rights
 * of the operator by declaring a key. docs/decisions/0015 has the reasons.
 */
import { REASON } from '../contract/reasons.ts';
import { Blocked } from './external.ts';
import type { ManagedSpec } from './spec.ts';

export interface HandingOut {
  kind: { name: string; handsOutUserRights(spec: ManagedSpec): boolean };
  /** Whether what is handed out may have the rights of a user. */
  mayHandOutUserRights: boolean;
}

/** @throws Blocked when what the object hands out would have the rights of a user, and that is not allowed */
export function requireHandOutGrant({ kind, mayHandOutUserRights }: HandingOut, spec: ManagedSpec): void {
  if (mayHandOutUserRights || !kind.handsOutUserRights(spec)) return;
  const message = `an ${kind.name} must belong to a bot: set spec.ownerRef to a BotUser, or have the operator started with --allow-user-api-keys true`;
  throw new Blocked(REASON.accessDenied, message);
}
