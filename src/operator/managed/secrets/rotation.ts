/** When to replace a token, and how long the old one keeps working. Pure. */
import { parseDuration } from '../../../settings/duration.ts';
import { ANNOTATION } from '../../contract/names.ts';
import { annotation, type KubeObject } from '../../kube/kube-object.ts';
import type { Renewal } from '../declaration/external.ts';
import { readStatus } from '../identity/recorded-status.ts';

export interface RotationSpec {
  rotation?: { interval?: string | undefined; overlap?: string | undefined } | undefined;
}

const DEFAULT_OVERLAP_MS = 10 * 60_000;

/** When a token issued at `issuedAt` (RFC 3339) is replaced; undefined without an interval. */
export function rotationTime({ rotation }: RotationSpec, issuedAt: string): Date | undefined {
  if (rotation?.interval === undefined) return undefined;
  return new Date(Date.parse(issuedAt) + parseDuration(rotation.interval));
}

/** Milliseconds for which both the old and the new token work. */
export function overlapOf({ rotation }: RotationSpec): number {
  if (rotation?.overlap !== undefined) return parseDuration(rotation.overlap);
  if (rotation?.interval === undefined) return DEFAULT_OVERLAP_MS;
  return Math.min(DEFAULT_OVERLAP_MS, parseDuration(rotation.interval) / 2);
}

export interface Issued {
  /** As in `token`. */
  what: string;
  /** RFC 3339. */
  at: string;
}

/**
 * Whether the token must be replaced now, by request or by age, and otherwise when.
 * @param now by the clock of the API: to an operator whose clock is ahead, every new token would be old already
 */
export function decideRotation(
  object: KubeObject,
  spec: RotationSpec,
  { what, ...issued }: Issued,
  now: Date,
): { due?: Renewal; at?: Date } {
  const overlapMs = overlapOf(spec);
  const request = rotationRequest(object);
  if (request !== undefined) {
    const message = `Rotation was requested (${request}); the old ${what} keeps working for another ${overlapMs / 1000} s`;
    return { due: { cause: 'requested', overlapMs, message } };
  }
  const due = rotationTime(spec, issued.at);
  if (!due) return {};
  if (due > now) return { at: due };
  const message = `The ${what} is older than ${spec.rotation?.interval}; it keeps working for another ${overlapMs / 1000} s`;
  return { due: { cause: 'interval', overlapMs, message } };
}

/** The request for a rotation that has not been handled. */
export function rotationRequest(object: KubeObject): string | undefined {
  const requested = annotation(object, ANNOTATION.rotateRequestedAt) || undefined;
  return requested === annotation(object, ANNOTATION.rotateHandledAt) ? undefined : requested;
}

/** The annotations that mark a requested rotation as handled; any new resource handles it. */
export function rotationHandled(object: KubeObject): Record<string, string> {
  const requested = annotation(object, ANNOTATION.rotateRequestedAt);
  return requested === undefined ? {} : { [ANNOTATION.rotateHandledAt]: requested };
}

/** Whether a requested rotation has begun but does not show in the status yet. */
export function isRotationBegun(object: KubeObject): boolean {
  return annotation(object, ANNOTATION.rotateHandledAt) !== readStatus(object).lastHandledRotateAt;
}

/** Restores from the status which request was handled, so that only a newer one counts. */
export function rotationRestored(object: KubeObject): Record<string, string> {
  const { lastHandledRotateAt } = readStatus(object);
  if (lastHandledRotateAt === undefined || annotation(object, ANNOTATION.rotateHandledAt) !== undefined) return {};
  return { [ANNOTATION.rotateHandledAt]: lastHandledRotateAt };
}
