import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { readExpiry } from '../../../src/operator/controller/expiry-gauges.ts';
import { createControllerMetrics } from '../../../src/operator/controller/metrics.ts';
import { object } from '../objects.ts';

const now = new Date('2026-11-21T11:00:00Z');
const ending = (expiresAt: unknown) => object({ status: { expiresAt } });

const past = ending('2026-11-21T11:00:00Z');
const soon = ending('2026-11-21T11:00:01Z');
const inWeek = ending('2026-11-28T11:00:00.000Z');
const inMonth = ending('2026-12-21T11:00:00Z');
const later = ending('2026-12-21T11:00:00.001Z');
const others = [object({}), ending(undefined), ending('never'), ending(7)];

test.each([
  { what: 'none that expires', objects: others, next: undefined, counts: [0, 0, 0] },
  { what: 'only expired ones', objects: [past, ...others], next: undefined, counts: [1, 0, 0] },
  { what: 'one that expires at once', objects: [later, soon, past, past], next: soon, counts: [2, 1, 1] },
  { what: 'the ends of a week and a month', objects: [later, inMonth, inWeek], next: inWeek, counts: [0, 1, 2] },
  { what: 'one that expires later', objects: [later], next: later, counts: [0, 0, 0] },
])('the gauges of expiry, of objects with $what', async ({ objects, next, counts }) => {
  const registry = new Registry();
  const metrics = createControllerMetrics(registry);
  // An earlier scrape must leave nothing behind.
  readExpiry('TLSCertificate', metrics, [soon, past, inMonth], now);
  readExpiry('TLSCertificate', metrics, objects, now);
  const kind = 'kind="TLSCertificate"';
  const series: [string, number | undefined][] = [
    [`next_expiration_timestamp_seconds{${kind}}`, next && Date.parse(String(Object(next.status).expiresAt)) / 1000],
    [`expiring_objects{${kind},within="7d"}`, counts[1]],
    [`expiring_objects{${kind},within="30d"}`, counts[2]],
    [`expired_objects{${kind}}`, counts[0]],
  ];
  const lines = (await registry.metrics()).split('\n').filter((line) => /^tunnel_operator_\w*expir\w+\{/.test(line));
  expect(lines).toEqual(
    series.flatMap(([name, value]) => (value === undefined ? [] : `tunnel_operator_${name} ${value}`)),
  );
});
