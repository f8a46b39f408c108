/**
 * Conditions in the Kubernetes shape (KEP-1623), and the rule that a status is written only when it says something new.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

export const condition = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  observedGeneration: z.number().optional(),
  lastTransitionTime: z.string(),
});

export type Condition = z.output<typeof condition>;

/** What a reconcile found out about one condition; the times are added when it is recorded. */
export interface Finding<Reason extends string = string> {
  status: 'True' | 'False' | 'Unknown';
  reason: Reason;
  message: string;
}

/**
 * Merges `findings` into the conditions and stamps them with the generation. A condition keeps its `lastTransitionTime`
 * while its status is the same. Types with the finding undefined are removed; types without one stay as they are.
 */
export function mergeConditions(
  current: readonly Condition[],
  findings: Readonly<Record<string, Finding | undefined>>,
  observedGeneration: number,
  now: Date,
): Condition[] {
  const merged = new Map(current.map((known) => [known.type, known]));
  for (const [type, finding] of Object.entries(findings)) {
    const known = merged.get(type);
    if (finding === undefined) {
      merged.delete(type);
      continue;
    }
    const lastTransitionTime = known?.status === finding.status ? known.lastTransitionTime : toKubeTime(now);
    const message = clip(finding.message);
    merged.set(type, { type, ...finding, message, observedGeneration, lastTransitionTime });
  }
  return [...merged.values()];
}

export function findCondition(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((known) => known.type === type);
}

/** Whether `wanted` is what is stored; the order of keys and undefined members of `wanted` do not matter. */
export function sameStatus(stored: unknown, wanted: unknown): boolean {
  return isDeepStrictEqual(stored, withoutUndefined(wanted));
}

/** Kubernetes writes metav1.Time without fractions of a second. */
export function toKubeTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, 'Z');
}

function withoutUndefined(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** The API server rejects longer messages. */
const MAX_MESSAGE = 32_768;

function clip(message: string): string {
  return message.length <= MAX_MESSAGE ? message : `${message.slice(0, MAX_MESSAGE - 1)}…`;
}
