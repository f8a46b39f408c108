/** Kubernetes objects for tests of pure functions. */
import { ANNOTATION } from '../../src/operator/contract/names.ts';
import type { KubeObject } from '../../src/operator/kube/kube-object.ts';

type Annotated = Partial<Record<keyof typeof ANNOTATION, string>>;

/** An object with a name, a UID and a version; `annotations` by their names in ANNOTATION. */
export function object(
  fields: { name?: string; uid?: string; version?: number | string; created?: string } & Partial<KubeObject> = {},
  annotations: Annotated = {},
): KubeObject {
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
