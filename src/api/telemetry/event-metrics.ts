/** Deliveries of events by this process, and what waits for one in the database. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { knownGauge } from './known-gauge.ts';

const deliveries = new Counter({
  name: 'tunnel_api_event_deliveries_total',
  help: 'Deliveries of events, by result: "delivered"; "failed", to be tried again; "given_up" after the last attempt; "dropped", no longer wanted or too old.',
  labelNames: ['result'] as const,
  registers: [],
});

const delay = new Histogram({
  name: 'tunnel_api_event_delivery_delay_seconds',
  help: 'Time from a change to the delivery of its event, with all attempts.',
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 43_200, 259_200],
  registers: [],
});

export interface Backlog {
  /** Deliveries. */
  pending: number;
  pausedDestinations: number;
  failingDestinations: number;
  oldestDueSeconds: number;
}

const backlog = knownGauge<Backlog>([
  {
    name: 'tunnel_api_event_deliveries_pending',
    help: 'Deliveries that wait to be made; the same in every process.',
    read: ({ pending }) => pending,
  },
  {
    name: 'tunnel_api_event_oldest_due_seconds',
    help: 'For how long the oldest delivery has been due, paused destinations apart; the same in every process.',
    read: ({ oldestDueSeconds }) => oldestDueSeconds,
  },
  {
    name: 'tunnel_api_event_destinations_paused',
    help: 'Event destinations that are paused; the same in every process.',
    read: ({ pausedDestinations }) => pausedDestinations,
  },
  {
    name: 'tunnel_api_event_destinations_failing',
    help: 'Event destinations that are active and have not taken an event since one has failed; the same in every process.',
    read: ({ failingDestinations }) => failingDestinations,
  },
]);

export function registerEventMetrics(registry: Registry): void {
  for (const metric of [deliveries, delay, ...backlog.gauges]) registry.registerMetric(metric);
}

/** What became of one attempt. */
export interface Outcome {
  state: 'pending' | 'delivered' | 'failed' | 'dropped';
  /** When the change was made; null if that is not known. */
  occurredAt: string | null;
}

const RESULT = { pending: 'failed', delivered: 'delivered', failed: 'given_up', dropped: 'dropped' } as const;

export function countDeliveries(outcomes: readonly Outcome[]): void {
  for (const { state, occurredAt } of outcomes) {
    deliveries.inc({ result: RESULT[state] });
    if (state === 'delivered' && occurredAt !== null)
      delay.observe(Math.max(0, Date.now() - Date.parse(occurredAt)) / 1000);
  }
}

/** @param known undefined: it cannot be told */
export const showBacklog = (known: Backlog | undefined) => backlog.show(known);
