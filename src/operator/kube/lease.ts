/** The Lease of a leader election: who holds it, who may take it, and what the new holder writes. Pure. */
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
 * Whether `identity` may take or renew the lease: it is the holder, there is none, or the holder failed to renew in
 * time.
 * @param unchangedMs how long the lease has been unchanged by the local clock: clocks need not agree
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

/** The lease without a holder, free for anyone to take. */
export function handedOver(lease: LeaseSpec): LeaseSpec {
  return { ...lease, holderIdentity: '', leaseDurationSeconds: 1 };
}
