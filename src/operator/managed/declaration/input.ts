/**
 * The inputs of a spec: ids of other objects' resources, and text from Secrets and ConfigMaps. A parsed spec contains a
 * Reference or a Source for each, at any depth, which the reconcile replaces by its value. Pure.
 */
import type { z } from 'zod';
import { REASON, type Reason } from '../../contract/reasons.ts';
import { Blocked } from './external.ts';

/** Another object, by name. */
export class Reference {
  readonly kind: string;
  readonly name: string;
  /** If undefined, the namespace of the referring object. */
  readonly namespace: string | undefined;
  /** Whether the object can never refer to another. */
  readonly isImmutable: boolean;

  constructor(target: { kind: string; name: string; namespace?: string | undefined; isImmutable?: boolean }) {
    this.kind = target.kind;
    this.name = target.name;
    this.namespace = target.namespace;
    this.isImmutable = target.isImmutable ?? false;
  }
}

/** One member of a Secret or ConfigMap in the namespace of the object. */
export class Source {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly name: string;
  readonly key: string;
  /** What the text must be. */
  readonly schema: z.ZodType;

  constructor(from: Pick<Source, 'kind' | 'name' | 'key'>, schema: z.ZodType) {
    this.kind = from.kind;
    this.name = from.name;
    this.key = from.key;
    this.schema = schema;
  }
}

export type Input = Reference | Source;

export interface PlacedInput<I extends Input = Input> {
  /** As a user writes it: `spec.provider.github.clientSecret`. */
  path: string;
  input: I;
}

/** All inputs of the spec. */
export function inputsOf(spec: unknown): PlacedInput[] {
  const found: PlacedInput[] = [];
  replaceInputs(spec, (input, path) => found.push({ input, path }));
  return found;
}

export const isReference = (placed: PlacedInput): placed is PlacedInput<Reference> => placed.input instanceof Reference;
export const isSource = (placed: PlacedInput): placed is PlacedInput<Source> => placed.input instanceof Source;

/** The spec with every input replaced. */
export function replaceInputs<Spec>(spec: Spec, replacement: (input: Input, path: string) => unknown): Spec {
  // The kind's own types describe the replaced members as resolved.
  return replaceIn(spec, 'spec', replacement) as Spec;
}

function replaceIn(value: unknown, path: string, replacement: (input: Input, path: string) => unknown): unknown {
  if (value instanceof Reference || value instanceof Source) return replacement(value, path);
  if (Array.isArray(value)) return value.map((each, index) => replaceIn(each, `${path}[${index}]`, replacement));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, replaceIn(member, memberPath(path, name), replacement)]),
  );
}

/** The keys of maps may be of any form. */
export function memberPath(path: string, name: string): string {
  return /^\w+$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}

/** Why an input cannot be used yet: shown in the condition ReferencesResolved. */
export const UNRESOLVED_REASONS: readonly Reason[] = [
  REASON.referenceNotFound,
  REASON.referenceNotReady,
  REASON.referenceDeleting,
  REASON.referenceNotPermitted,
  REASON.sourceNotFound,
  REASON.sourceInvalid,
];

export function unresolved(reason: Reason, path: string, message: string): Blocked {
  return new Blocked(reason, `${path}: ${message}`);
}
