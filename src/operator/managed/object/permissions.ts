/**
 * Permissions beyond the validity of a spec. Existing resources may be adopted only in namespaces that the administrator
 * permits. Otherwise, anyone who can write objects there could take over, read, or attach something to any resource.
 * An annotation that names a resource of another origin counts as adoption, and so does a reference by id
 * (`requireNoIds`). An object may not hand out the rights of a user through its Secret (docs/decisions/0015).
 */
import { ANNOTATION } from '../../contract/names.ts';
import { REASON } from '../../contract/reasons.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import { Blocked } from '../declaration/external.ts';
import type { AnyKind } from '../declaration/kind.ts';
import type { ManagedSpec } from '../declaration/spec.ts';

/** @throws Blocked in a namespace without adoption, in the same words whether or not the resource exists */
export function requireAdoptionGrant({ object, mayAdopt }: { object: KubeObject; mayAdopt: boolean }): void {
  if (mayAdopt) return;
  const naming = [ANNOTATION.adopt, ANNOTATION.externalId, ANNOTATION.retiring].filter((name) =>
    annotation(object, name),
  );
  const annotations = `annotation${naming.length === 1 ? '' : 's'} ${naming.join(' and ')}`;
  const message = `existing resources may be neither adopted nor observed from namespace ${object.metadata.namespace}: to keep what its annotations name, as after a restore, have the operator started with --adopt-namespaces that include it until this object is Ready; to have another resource, remove the ${annotations}`;
  throw new Blocked(REASON.accessDenied, message);
}

/** @throws Blocked when the handed-out value would have the rights of a user, and the administrator does not allow that */
export function requireHandOutGrant(
  { kind, handsOutUserRights }: Pick<AnyKind, 'kind' | 'handsOutUserRights'>,
  spec: ManagedSpec,
  mayHandOutUserRights: boolean,
): void {
  if (mayHandOutUserRights || !handsOutUserRights?.(spec)) return;
  const message = `an ${kind} must belong to a bot: set spec.ownerRef to a BotUser, or have the operator started with --allow-user-api-keys true`;
  throw new Blocked(REASON.accessDenied, message);
}

/**
 * For namespaces without adoption, where a reference by id could attach something to any resource.
 * @throws Blocked when the spec names anything by id, whether or not that exists
 */
export function requireNoIds({ metadata, spec }: KubeObject): void {
  const paths = namedById(spec).map(({ path }) => path);
  if (paths.length === 0) return;
  const message = `nothing may be named by its id from namespace ${metadata.namespace}: refer to objects by name in place of ${paths.join(', ')}, or have the operator started with --adopt-namespaces that include it`;
  throw new Blocked(REASON.accessDenied, message);
}

export interface NamedById {
  /** As a user writes it: `spec.edgeRef.id`, `spec.ipPolicyRefs[1].id`, `spec.ownerId`. */
  path: string;
  id: string;
}

export function namedById(spec: unknown): NamedById[] {
  return namedIn(spec, 'spec', false);
}

/** @param isReference whether the value stands where a reference, or a list of references, belongs */
function namedIn(value: unknown, path: string, isReference: boolean): NamedById[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => namedIn(each, `${path}[${index}]`, isReference));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const isId = isReference ? name === 'id' : path === 'spec' && name === 'ownerId';
    if (isId && typeof member === 'string') return [{ path: `${path}.${name}`, id: member }];
    return namedIn(member, `${path}.${name}`, /Refs?$/.test(name));
  });
}
