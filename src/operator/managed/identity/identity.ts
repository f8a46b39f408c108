/**
 * Which remote resource belongs to an object, as its annotations record it. Pure.
 *
 * The create generation and its key are persisted before they are used in a create, so that a process that dies in
 * between sends the same create again. A resource that is to be replaced moves to the retiring list in the write that
 * raises the generation, so that it cannot be forgotten.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { CreateOptions } from '../../../client/call-options.ts';
import { LARGEST_SEQUENCE } from '../../../resources/definition/idempotency.ts';
import { ANNOTATION } from '../../contract/names.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';

export const retiringEntry = z.object({
  id: z.string().meta({ description: 'Id of the resource.' }),
  generation: z
    .int()
    .meta({ description: 'Create generation under which the resource was created. 0 if it was adopted.' }),
  after: z.string().meta({ description: 'When the resource may be deleted.' }),
});

const recordedEntry = retiringEntry.extend({
  /** Until the successor is recorded: how long the resource stays from then on. It is not due before. */
  overlapMs: z.int().optional(),
});
export type Retiring = z.output<typeof recordedEntry>;

export interface Identity {
  externalId: string | undefined;
  /** 0 before the first create, and while an adopted resource has not been replaced. */
  generation: number;
  /**
   * Distinguishes this create from every other one, including one of the same generation that began before the
   * annotations were lost. Undefined if it is unknown and no longer needed.
   */
  createKey: string | undefined;
  retiring: readonly Retiring[];
}

/** Must fit into a header. A key that was edited to anything else counts as removed. */
const CREATE_KEY = /^[\x21-\x7e]{1,200}$/;

/** No object reaches half of the API's largest number. A greater generation must be an edit. */
const isGeneration = (generation: number) =>
  Number.isInteger(generation) && generation > 0 && 2 * generation <= LARGEST_SEQUENCE;

export function readIdentity(object: KubeObject): Identity {
  const generation = Number(annotation(object, ANNOTATION.createGeneration) ?? 0);
  const createKey = annotation(object, ANNOTATION.createKey) ?? '';
  return {
    externalId: annotation(object, ANNOTATION.externalId) || undefined,
    generation: isGeneration(generation) ? generation : 0,
    createKey: CREATE_KEY.test(createKey) ? createKey : undefined,
    retiring: readRetiring(annotation(object, ANNOTATION.retiring)),
  };
}

export function knows({ externalId, retiring }: Identity, id: string): boolean {
  return externalId === id || retiring.some((entry) => entry.id === id);
}

/** Whether the object has a resource, or its creation has begun. */
export function isBegun({ externalId, generation }: Identity): boolean {
  return externalId !== undefined || generation > 0;
}

/** Whether the annotations name no resource, even if a create was begun. Until they do, the annotation `adopt` has an effect. */
export function namesNoResource(object: KubeObject): boolean {
  const { externalId, retiring } = readIdentity(object);
  return externalId === undefined && retiring.length === 0;
}

/** Whether the entry says when it is due; one that was edited by hand may not. */
export const isDated = ({ after }: Retiring) => z.iso.datetime({ offset: true }).safeParse(after).success;

/** The annotations that record the identity; null removes one (JSON merge patch). */
export function identityAnnotations(identity: Identity): Record<string, string | null> {
  return {
    [ANNOTATION.externalId]: identity.externalId ?? null,
    [ANNOTATION.createGeneration]: identity.generation > 0 ? String(identity.generation) : null,
    [ANNOTATION.createKey]: identity.createKey ?? null,
    [ANNOTATION.retiring]: identity.retiring.length > 0 ? JSON.stringify(identity.retiring) : null,
  };
}

/**
 * A copy of a settled identity for the status: `kubectl replace`, and GitOps tools that use it, remove the annotations
 * of an object but not its status.
 */
export function identityInStatus({ externalId, generation, retiring }: Identity, shownId = externalId) {
  if (externalId === undefined) return { createGeneration: undefined, retiring: undefined };
  const listed = retiring.length > 0 ? retiring : undefined;
  return { createGeneration: shownId === externalId ? generation : undefined, retiring: listed };
}

/** A resource that is replaced, and how long it stays once its successor is recorded. */
interface Replaced {
  id: string;
  now: Date;
  overlapMs: number;
}

/** The identity under which the next remote resource is created; `retire` is the one that it replaces. */
export function nextGeneration(identity: Identity, retire?: Replaced): Identity {
  const replaced = retire ? [retiringFrom(identity, retire)] : [];
  const others = identity.retiring.filter((entry) => entry.id !== retire?.id);
  const next = identity.generation + 1;
  return {
    externalId: undefined,
    // An edited generation may have no successor. Start over: the API refuses that number and reports the next one.
    generation: isGeneration(next) ? next : 1,
    createKey: randomUUID(),
    retiring: [...others, ...replaced],
  };
}

function retiringFrom({ generation }: Identity, { id, now, overlapMs }: Replaced): Retiring {
  const entry = { id, generation, after: later(now, overlapMs) };
  return overlapMs > 0 ? { ...entry, overlapMs } : entry;
}

/** Starts the overlap of replaced resources once the successor is recorded, since its token is in the Secret by then. */
export function startOverlaps(identity: Identity, now: Date): Identity {
  if (identity.externalId === undefined) return identity;
  const retiring = identity.retiring.map(({ overlapMs, ...entry }) =>
    overlapMs === undefined ? entry : { ...entry, after: later(now, overlapMs) },
  );
  return { ...identity, retiring };
}

const later = (now: Date, ms: number) => new Date(now.getTime() + ms).toISOString();

/** Everything that belongs to the object, in the order of deletion. */
export function everythingOf({ externalId, generation, retiring }: Identity): Retiring[] {
  const others = retiring.filter(({ id }) => id !== externalId);
  return externalId === undefined ? others : [...others, { id: externalId, generation, after: '' }];
}

/** The identity that restarts the pending create under another number. */
export const renumbered = (identity: Identity, generation: number): Identity => ({
  ...identity,
  generation,
  createKey: randomUUID(),
});

/** Splits the retiring list into resources that are due and those that are not. */
export function dueForRetirement(identity: Identity, now: Date) {
  const isDue = ({ after, overlapMs }: Retiring) => overlapMs === undefined && Date.parse(after) <= now.getTime();
  return { due: identity.retiring.filter(isDue), later: identity.retiring.filter((entry) => !isDue(entry)) };
}

/**
 * Makes a create happen once: a key that is the same for every attempt, and its place among all creates for the object's
 * UID, which survives the loss of annotations and status.
 */
export function idempotencyOf(object: KubeObject, { generation, createKey }: Identity) {
  const { uid } = object.metadata;
  return {
    idempotencyKey: [uid, generation, createKey].filter((part) => part !== undefined).join('-'),
    idempotencyPlace: { scope: uid, sequence: generation },
  } satisfies CreateOptions;
}

/** The id that an object claims: the one it manages, or else the one it is to adopt. */
export function claimedId(object: KubeObject): string | undefined {
  return annotation(object, ANNOTATION.externalId) || annotation(object, ANNOTATION.adopt) || undefined;
}

function readRetiring(value: string | undefined): Retiring[] {
  if (!value) return [];
  try {
    // The list may have been edited. Drop invalid entries instead of failing the reconcile.
    const entries = z.array(z.unknown()).parse(JSON.parse(value));
    return entries.flatMap((entry) => recordedEntry.safeParse(entry).data ?? []).filter(isDated);
  } catch {
    return [];
  }
}
