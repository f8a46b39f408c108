/**
 * What an object is denied although its spec is valid. Existing resources may be adopted only where the administrator
 * permits it by namespace: anyone who may write objects there could otherwise take over, read, or attach something to any
 * resource that they can name. An annotation that names a resource which was not created for its object counts as adoption,
 * and so does a reference by id (inputs/named-by-id.ts). Nor may an object hand out the rights of a user to everyone who
 * reads its Secret (docs/decisions/0015).
 */
import { ANNOTATION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { annotation } from '../kube/kube-object.ts';
import { Blocked, type CreateScope } from './external.ts';
import { type Identity, knows } from './identity.ts';
import type { AnyKind } from './kind.ts';
import type { ManagedObject } from './managed-object.ts';
import type { ManagedSpec } from './spec.ts';

/** @throws Blocked in a namespace without adoption, in the same words whether or not the resource exists */
export function requireAdoptionGrant({ object, mayAdopt }: Pick<ManagedObject, 'object' | 'mayAdopt'>): void {
  if (mayAdopt) return;
  const naming = [ANNOTATION.adopt, ANNOTATION.externalId, ANNOTATION.retiring].filter((name) =>
    annotation(object, name),
  );
  const annotations = `annotation${naming.length === 1 ? '' : 's'} ${naming.join(' and ')}`;
  const message = `existing resources may be neither adopted nor observed from namespace ${object.metadata.namespace}: to keep what its annotations name, as after a restore, have the operator started with --adopt-namespaces that include it until this object is Ready; to have another resource, remove the ${annotations}`;
  throw new Blocked(REASON.accessDenied, message);
}

/** Whether everything that the annotations name was created for the object, or is known to its status. */
export function namesOnlyOwn(recorded: Identity, shown: Identity | undefined, scope: CreateScope): boolean {
  return [recorded.externalId, ...recorded.retiring.map(({ id }) => id)].every(
    (id) => id === undefined || isOwn(id, shown, scope),
  );
}

/** The identity without what was not created for the object, and is not known to its status. */
export function onlyOwn(recorded: Identity, shown: Identity | undefined, scope: CreateScope): Identity {
  const { externalId, retiring } = recorded;
  return {
    ...recorded,
    externalId: externalId !== undefined && isOwn(externalId, shown, scope) ? externalId : undefined,
    retiring: retiring.filter(({ id }) => isOwn(id, shown, scope)),
  };
}

function isOwn(id: string, shown: Identity | undefined, { resources }: CreateScope): boolean {
  return resources.some((resource) => resource.id === id) || (shown !== undefined && knows(shown, id));
}

/** @throws Blocked when what the object hands out would have the rights of a user, and that is not allowed */
export function requireHandOutGrant(
  { kind, handsOutUserRights }: Pick<AnyKind, 'kind' | 'handsOutUserRights'>,
  spec: ManagedSpec,
  mayHandOutUserRights: boolean,
): void {
  if (mayHandOutUserRights || !handsOutUserRights?.(spec)) return;
  const message = `an ${kind} must belong to a bot: set spec.ownerRef to a BotUser, or have the operator started with --allow-user-api-keys true`;
  throw new Blocked(REASON.accessDenied, message);
}
