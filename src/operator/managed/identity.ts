/**
 * Which remote resource belongs to an object, as its annotations record it. Pure.
 *
 * The create generation is persisted before it is used in an idempotency key, so that a process that dies in between
 * uses the same key again. A resource that is to be replaced moves to the retiring list in the write that raises the
 * generation, so that it cannot be forgotten.
 */
import { z } from 'zod';
import { ANNOTATION } from '../contract/names.ts';
import { annotation, type KubeObject } from '../kube/kube-object.ts';

export const retiringEntry = z.object({
  id: z.string(),
  /** The create generation it was created under; 0 if it was adopted. */
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
 * A copy of a settled identity for the status: `kubectl replace`, and GitOps tools that use it, remove the annotations
 * of an object but not its status.
 */
export function identityInStatus({ externalId, generation, retiring }: Identity) {
  if (externalId === undefined) return { createGeneration: undefined, retiring: undefined };
  return { createGeneration: generation, retiring: retiring.length > 0 ? retiring : undefined };
}

/** The identity under which the next remote resource is created; `retire` is the one it replaces. */
export function nextGeneration(identity: Identity, retire?: { id: string; after: Date }): Identity {
  const replaced = retire
    ? [{ id: retire.id, generation: identity.generation, after: retire.after.toISOString() }]
    : [];
  const others = identity.retiring.filter((entry) => entry.id !== retire?.id);
  return { externalId: undefined, generation: identity.generation + 1, retiring: [...others, ...replaced] };
}

/** Splits the retiring list into what is due and what is not. */
export function dueForRetirement(identity: Identity, now: Date) {
  const isDue = (entry: Retiring) => Date.parse(entry.after) <= now.getTime();
  return { due: identity.retiring.filter(isDue), later: identity.retiring.filter((entry) => !isDue(entry)) };
}

/** The idempotency key of one create: the same for every attempt, different for every object and generation. */
export function idempotencyKeyOf(object: KubeObject, generation: number): string {
  return `${object.metadata.uid}-${generation}`;
}

/** The id that an object claims: the one it manages, else the one it is to adopt. */
export function claimOf(object: KubeObject): string | undefined {
  return annotation(object, ANNOTATION.externalId) || annotation(object, ANNOTATION.adopt) || undefined;
}

function readRetiring(value: string | undefined): Retiring[] {
  if (!value) return [];
  try {
    return z.array(retiringEntry).parse(JSON.parse(value));
  } catch {
    // Edited by hand: its entries are lost, but that must not stop the reconcile.
    return [];
  }
}
