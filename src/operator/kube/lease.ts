/** The Lease of a leader election: who holds it, who may take it, and what is written to do so. Pure. */
import { z } from 'zod';
import type { KubeObject } from './kube-object.ts';

const leaseSpec = z.looseObject({
  holderIdentity: z.string().nullish(),
  leaseDurationSeconds: z.number().nullish(),
  acquireTime: z.string().nullish(),
  renewTime: z.string().nullish(),
  leaseTransitions: z.number().nullish(),
});
export type LeaseSpec = z.output<typeof leaseSpec>;

export function readLease(lease: KubeObject): LeaseSpec {
  return leaseSpec.parse(lease.spec ?? {});
}

/**
 * Whether `identity` may write itself into the lease: it holds it, or nobody does, or who does has not renewed it in time.
 * @param unchangedMs how long the lease has been as it is, by our own clock: clocks need not agree
 */
export function mayTake(
  lease: LeaseSpec,
  { identity, leaseMs }: { identity: string; leaseMs: number },
  unchangedMs: number,
): boolean {
  if (lease.holderIdentity === identity || !lease.holderIdentity) return true;
  const durationMs = (lease.leaseDurationSeconds ?? 0) * 1000 || leaseMs;
  return unchangedMs >= durationMs;
}

/** The lease, held by `identity` from now on. */
export function holding(previous: LeaseSpec | undefined, identity: string, leaseMs: number, at: Date): LeaseSpec {
  // metav1.MicroTime has six digits.
  const now = at.toISOString().replace('Z', '000Z');
  const isOurs = previous?.holderIdentity === identity;
  return {
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseMs / 1000),
    acquireTime: isOurs ? (previous?.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: (previous?.leaseTransitions ?? 0) + (isOurs || !previous ? 0 : 1),
  };
}

/** The lease, free at once for whoever asks next. */
export function handedOver(lease: LeaseSpec): LeaseSpec {
  return { ...lease, holderIdentity: '', leaseDurationSeconds: 1 };
}
