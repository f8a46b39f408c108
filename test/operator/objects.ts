/** Kubernetes objects for tests of pure functions. */
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import type { Condition } from '../../src/operator/kube/conditions.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';

type Annotated = Partial<Record<keyof typeof ANNOTATION, string>>;

type Fields = Partial<Omit<KubeObject, 'metadata'>> & {
  name?: string;
  uid?: string;
  version?: number | string;
  created?: string;
  metadata?: Partial<KubeObject['metadata']>;
};

/** An object with a name, a UID and a version; `annotations` by their names in ANNOTATION. */
export function object(fields: Fields = {}, annotations: Annotated = {}): KubeObject {
  const {
    name = 'a',
    uid = `uid-of-${name}`,
    version = 1,
    created = '2026-11-21T10:00:00Z',
    metadata,
    ...rest
  } = fields;
  const named = Object.entries(annotations).map(([key, value]) => [ANNOTATION[key as keyof typeof ANNOTATION], value]);
  return {
    apiVersion: 'tunnel-operator.dev/v1alpha1',
    kind: 'IPPolicy',
    ...rest,
    metadata: {
      name,
      namespace: 'ns',
      uid,
      resourceVersion: String(version),
      generation: 1,
      creationTimestamp: created,
      annotations: Object.fromEntries(named),
      ...metadata,
    },
  };
}

/** A condition as a reconcile of generation 1 leaves it. */
export function condition(
  type: 'Ready' | 'Synced',
  status: Condition['status'],
  more: Partial<Condition> = {},
): Condition {
  return {
    type,
    status,
    reason: 'Any',
    message: 'any',
    observedGeneration: 1,
    lastTransitionTime: '2026-11-21T10:00:00Z',
    ...more,
  };
}
