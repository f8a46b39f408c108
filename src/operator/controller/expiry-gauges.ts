/** Gauges about when the objects of one kind expire, read at scrape time. */
import type { KubeObject } from '../kube/kube-object.ts';
import { readStatus } from '../managed/identity/recorded-status.ts';
import type { ControllerMetrics } from './metrics.ts';

type ExpiryMetrics = Pick<ControllerMetrics, 'nextExpiration' | 'expiring' | 'expired'>;

const DAY_MS = 86_400_000;
/** The values of the label `within`, in milliseconds. */
const WITHIN = { '7d': 7 * DAY_MS, '30d': 30 * DAY_MS };

/** @param now by the clock of the API */
export function readExpiry(kind: string, metrics: ExpiryMetrics, objects: Iterable<KubeObject>, now: Date): void {
  const ends: number[] = [];
  for (const object of objects) {
    const end = Date.parse(readStatus(object).expiresAt ?? '');
    if (!Number.isNaN(end)) ends.push(end);
  }
  const ahead = ends.filter((end) => end > now.getTime());
  metrics.expired.set({ kind }, ends.length - ahead.length);
  for (const [within, ms] of Object.entries(WITHIN))
    metrics.expiring.set({ kind, within }, ahead.filter((end) => end <= now.getTime() + ms).length);
  // An object that has expired must not hide the next one that will.
  const next = ahead.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  if (ahead.length === 0) metrics.nextExpiration.remove({ kind });
  else metrics.nextExpiration.set({ kind }, next / 1000);
}
