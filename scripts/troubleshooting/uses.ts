/** What the specs of a kind may name, by its CustomResourceDefinition. */
import { parse } from 'yaml';
import { crdYaml } from '../../src/operator/crds/crd.ts';
import type { AnyKind } from '../../src/operator/managed/declaration/kind.ts';

const SOURCE = /^(secretKeyRef|configMapKeyRef|secretRef)$/;

/** Whether it takes text from Secrets or ConfigMaps. */
export const hasSources = (kind: AnyKind): boolean => membersOf(kind).some((name) => SOURCE.test(name));

/** Whether it refers to other objects. */
export const hasReferences = (kind: AnyKind): boolean =>
  membersOf(kind).some((name) => /Refs?$/.test(name) && !SOURCE.test(name));

function membersOf(kind: AnyKind): string[] {
  const [version] = parse(crdYaml(kind)).spec.versions;
  return [...members(version.schema.openAPIV3Schema.properties.spec)];
}

/** The names of all members, at any depth. */
function* members(schema: unknown): Generator<string> {
  if (schema === null || typeof schema !== 'object') return;
  if ('properties' in schema && schema.properties) yield* Object.keys(schema.properties);
  for (const part of Object.values(schema)) yield* members(part);
}
