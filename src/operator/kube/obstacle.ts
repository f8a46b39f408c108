/** What keeps a cache from being filled until a person acts. */
import type { ResourceType } from './kube-api.ts';
import { KubeError } from './kube-error.ts';

/** Retries continue, and end the obstacle once it is fixed. */
export interface Obstacle {
  /** `missing`: the API server does not serve the resource; `forbidden`: the permission is missing. */
  kind: 'missing' | 'forbidden';
  /** What to do, in a sentence. */
  message: string;
}

/** What stands in the way if a request failed for this reason; undefined if it may succeed by itself. */
export function obstacleFrom(
  error: unknown,
  verb: 'list' | 'watch',
  { group, plural }: ResourceType,
  namespace: string | undefined,
): Obstacle | undefined {
  if (!(error instanceof KubeError)) return undefined;
  const resource = group === '' ? plural : `${plural}.${group}`;
  if (error.isNotFound) {
    const message = `the cluster has no ${resource}; install its CustomResourceDefinition`;
    return { kind: 'missing', message };
  }
  if (!error.isForbidden) return undefined;
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  const message = `not allowed to ${verb} ${resource}${where}; grant get, list and watch on ${resource}`;
  return { kind: 'forbidden', message };
}
