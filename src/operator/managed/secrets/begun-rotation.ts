/** A rotation that has begun: recorded on the object before the API is asked, and until the value is in its Secret. Pure. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ANNOTATION } from '../../contract/names.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import { readIdentity } from '../identity/identity.ts';
import { rotationHandled } from './rotation.ts';

const begunRotation = z.object({
  /** The resource that issues another value. */
  id: z.string(),
  /** The idempotency key of the call, which must fit into a header. */
  key: z.string().regex(/^[\x21-\x7e]{1,200}$/),
  /** In seconds. Part of the record, since a repeated call has to be the same although the spec was edited. */
  overlap: z.int().min(0),
});
export type BegunRotation = z.output<typeof begunRotation>;

/** A rotation of the resource `id` under a key of its own. */
export function newRotation(id: string, overlapMs: number): BegunRotation {
  return { id, key: randomUUID(), overlap: Math.ceil(overlapMs / 1000) };
}

/** The annotations that record it; it handles what was requested so far. */
export function rotationBegun(object: KubeObject, rotation: BegunRotation): Record<string, string> {
  return { ...rotationHandled(object), [ANNOTATION.rotation]: JSON.stringify(rotation) };
}

export const ROTATION_ENDED = { [ANNOTATION.rotation]: null };

/** Undefined if there is none, if it was edited to something else, and if it was begun for an earlier resource. */
export function readRotation(object: KubeObject): BegunRotation | undefined {
  const { data } = begunRotation.safeParse(parseJson(annotation(object, ANNOTATION.rotation)));
  return data?.id === readIdentity(object).externalId ? data : undefined;
}

function parseJson(text = ''): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
