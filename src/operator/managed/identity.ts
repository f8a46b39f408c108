/**
 * Which remote resource belongs to an object, as its annotations record it. Pure.
 *
 * The create generation is persisted before it is used in an idempotency key, so that a process that dies between the
 * two finds the same key again. A resource that is to be replaced moves to the retiring list in the same write that
 * raises the generation, so that it can never be forgotten.
 */
import { z } from 'zod';
import { ANNOTATION } from '../contract/names.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';

export const retiringEntry = z.object({
  id: z.string(),
  /** The create generation it was made under; 0 when it was adopted. */
  generation: z.int(),
  /** RFC 3339; it is deleted after this. */
  after: z.string(),
});
export type Retiring = z.output<typeof retiringEntry>;

export interface Identity {
  externalId: string | undefined;
  /** 0 before the first create, and while an adopted resource has not been replaced. */
  generation: number;
  retiring: readonly Retiring[];
}

export function readIdentity(object: KubeObject): Identity {
  const generation = Number(annotation(object, ANNOTATION.createGeneration) ?? 0);
  return {
    externalId: annotation(object, ANNOTATION.externalId) || undefined,
    generation: Number.isSafeInteger(generation) && generation > 0 ? generation : 0,
    retiring: readRetiring(annotation(object, ANNOTATION.retiring)),
  };
}

/** The annotations that record the identity; null removes one (JSON merge patch). */
export function identityAnnotations(identity: Identity): Record<string, string | null> {
  return {
    [ANNOTATION.externalId]: identity.externalId ?? null,
    [ANNOTATION.createGeneration]: identity.generation > 0 ? String(identity.generation) : null,
    [ANNOTATION.retiring]: identity.retiring.length > 0 ? JSON.stringify(identity.retiring) : null,
  };
}

/**
 * A copy of a settled identity for the status: `kubectl replace`, and GitOps tools that use it, take the annotations of
 * an object away but not its status.
 */
export function identityInStatus({ externalId, generation, retiring }: Identity) {
  if (externalId === undefined) return { createGeneration: undefined, retiring: undefined };
  return { createGeneration: generation, retiring: retiring.length > 0 ? retiring : undefined };
}

/** The identity from which the next remote resource is made; `retire` is what it replaces. */
export function nextGeneration(identity: Identity, retire?: { id: string; after: Date }): Identity {
  const replaced = retire
    ? [{ id: retire.id, generation: identity.generation, after: retire.after.toISOString() }]
    : [];
  const others = identity.retiring.filter((entry) => entry.id !== retire?.id);
  return { externalId: undefined, generation: identity.generation + 1, retiring: [...others, ...replaced] };
}

/** Splits the retiring list by whether their time has come. */
export function dueForRetirement(identity: Identity, now: Date) {
  const isDue = (entry: Retiring) => Date.parse(entry.after) <= now.getTime();
  return { due: identity.retiring.filter(isDue), later: identity.retiring.filter((entry) => !isDue(entry)) };
}

/** The idempotency key of one create: the same for every attempt, different for every object and generation. */
export function idempotencyKeyOf(object: KubeObject, generation: number): string {
  return `${object.metadata.uid}-${generation}`;
}

/** What an object claims: the id it manages, else the one it wants to adopt. */
export function claimOf(object: KubeObject): string | undefined {
  return annotation(object, ANNOTATION.externalId) || annotation(object, ANNOTATION.adopt) || undefined;
}

function readRetiring(value: string | undefined): Retiring[] {
  if (!value) return [];
  try {
    return z.array(retiringEntry).parse(JSON.parse(value));
  } catch {
    // A hand-edited annotation: what it listed is lost to us, which is no reason to stop working on the object.
    return [];
  }
}
