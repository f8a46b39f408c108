/** Checks that the conditions of an object are consistent. Only for test files. */
import { findCondition } from '../src/operator/kube/conditions.ts';
import type { KubeObject } from '../src/operator/kube/kube-object.ts';
import { readStatus } from '../src/operator/managed/identity/recorded-status.ts';

/** What is wrong with any condition of an object that is Ready in its current generation. */
export function conditionProblems(object: KubeObject): string[] {
  const { conditions = [], sources = [], references = [] } = readStatus(object);
  const { generation } = object.metadata;
  const old = conditions.filter(({ observedGeneration }) => observedGeneration !== generation);
  const resolved = findCondition(conditions, 'ReferencesResolved')?.status;
  const expected = sources.length + references.length > 0 ? 'True' : undefined;
  return [
    ...old.map(({ type, status, reason }) => `is ${type}=${status} ${reason} in an older generation`),
    ...(resolved === expected ? [] : [`has ReferencesResolved=${resolved} instead of ${expected}`]),
  ];
}
