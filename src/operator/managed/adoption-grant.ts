/**
 * Adoption is granted by namespace. Otherwise anybody who may write objects in a namespace could take over any resource whose
 * id they know. An annotation that names a resource which was not created for its object is adoption, too, and so is a
 * reference by id (inputs/named-by-id.ts).
 */
import { ANNOTATION } from '../contract/names.ts';
import { REASON } from '../contract/reasons.ts';
import { annotation } from '../kube/kube-object.ts';
import { Blocked, type CreateScope } from './external.ts';
import { type Identity, knows } from './identity.ts';
import type { ManagedObject } from './managed-object.ts';

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
