/** Where a spec names resources by their ids, instead of objects of the cluster by their names. */
import { REASON } from '../../contract/reasons.ts';
import type { KubeObject } from '../../kube/kube-object.ts';
import { Blocked } from '../external.ts';

/**
 * For a namespace without adoption: who may write objects there could attach something to whatever they can name.
 * @throws Blocked when the spec names anything by id, whether or not that exists
 */
export function mustNameNoIds({ metadata, spec }: KubeObject): void {
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

/** @param isReference whether the value is in the place of a reference, or of a list of them */
function namedIn(value: unknown, path: string, isReference: boolean): NamedById[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => namedIn(each, `${path}[${index}]`, isReference));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const isId = isReference ? name === 'id' : path === 'spec' && name === 'ownerId';
    if (isId && typeof member === 'string') return [{ path: `${path}.${name}`, id: member }];
    return namedIn(member, `${path}.${name}`, /Refs?$/.test(name));
  });
}
