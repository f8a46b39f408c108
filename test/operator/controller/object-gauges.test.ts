import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createControllerMetrics } from '../../../src/operator/controller/metrics.ts';
import { notReady, ObjectGauges, pausedSince } from '../../../src/operator/controller/object-gauges.ts';
import { DEFAULT_STATUS } from '../../../src/operator/managed/identity/recorded-status.ts';
import { condition, object } from '../objects.ts';

const now = Date.parse('2026-11-21T11:00:00Z');

test('the gauges count objects that are not Ready by reason, or paused, and show the longest time of each', async () => {
  const registry = new Registry();
  const gauges = new ObjectGauges('IPPolicy', createControllerMetrics(registry));
  const shown = async () => {
    const lines = (await registry.metrics()).split('\n').filter((line) => /^tunnel_operator_\w+\{/.test(line));
    return lines.map((line) => line.replace('kind="IPPolicy"', '').replace('tunnel_operator_', ''));
  };
  const failing = (name: string, reason: string, lastTransitionTime: string) =>
    object({ name, status: { conditions: [condition('Ready', 'False', { reason, lastTransitionTime })] } });
  const fine = object({ name: 'fine', status: { conditions: [condition('Ready', 'True')] } });

  const objects = [
    fine,
    failing('a', 'Rejected', '2026-11-21T10:59:00Z'),
    failing('b', 'Rejected', '2026-11-21T10:58:00Z'),
    failing('c', 'SecretConflict', '2026-11-21T10:59:30Z'),
  ];
  gauges.read(objects, now);
  expect(await shown()).toEqual([
    'not_ready_objects{,reason="Rejected"} 2',
    'not_ready_objects{,reason="SecretConflict"} 1',
    'longest_not_ready_seconds{} 120',
    'paused_objects{} 0',
    'longest_paused_seconds{} 0',
    'managed_objects{} 4',
  ]);

  const paused = (name: string, lastTransitionTime: string) => {
    const conditions = [condition('Ready', 'Unknown', { reason: 'Paused', lastTransitionTime })];
    return object({ name, status: { conditions } }, { paused: 'true' });
  };
  gauges.read([fine, paused('d', '2026-11-21T10:59:00Z'), paused('e', '2026-11-14T11:00:00Z')], now);
  expect(await shown()).toEqual([
    'not_ready_objects{,reason="Rejected"} 0',
    'not_ready_objects{,reason="SecretConflict"} 0',
    'longest_not_ready_seconds{} 0',
    'paused_objects{} 2',
    'longest_paused_seconds{} 604800',
    'managed_objects{} 3',
  ]);
});

const created = '2026-11-21T10:00:00Z';
const later = '2026-11-21T12:00:00Z';
const conditions = (...all: object[]) => object({ created, status: { conditions: all } });

test.each([
  { what: 'that no reconcile has seen', of: object({ created }), is: ['NotReconciled', created] },
  { what: 'with the default status', of: object({ created, status: DEFAULT_STATUS }), is: ['NotReconciled', created] },
  { what: 'that is paused', of: object({ created }, { paused: 'true' }), is: undefined },
  { what: 'that is Ready', of: conditions(condition('Ready', 'True')), is: undefined },
  {
    what: 'with a reason of the operator',
    of: conditions(condition('Ready', 'False', { reason: 'SecretConflict', lastTransitionTime: later })),
    is: ['SecretConflict', later],
  },
  {
    what: 'with an unknown reason, which must not become a label',
    of: conditions(condition('Ready', 'False', { reason: 'x"} 1', lastTransitionTime: later })),
    is: ['Other', later],
  },
  {
    what: 'whose transition time is invalid',
    of: conditions(condition('Ready', 'False', { reason: 'Rejected', lastTransitionTime: 'soon' })),
    is: ['Rejected', created],
  },
  { what: 'with other conditions only', of: conditions(condition('Synced', 'True')), is: ['NotReconciled', created] },
])('why and since when an object is not Ready: one $what', ({ of, is }) => {
  const [reason, since = ''] = is ?? [];
  expect(notReady(of)).toEqual(is && { reason, since: Date.parse(since) });
});

const paused = (lastTransitionTime: string) => ({ reason: 'Paused', lastTransitionTime });

test.each([
  { what: 'that was Ready', of: [condition('Ready', 'Unknown', paused(later))], is: later },
  {
    what: 'whose Ready was Unknown before',
    of: [condition('Ready', 'Unknown', paused('1970-01-01T00:00:00Z')), condition('Synced', 'False', paused(later))],
    is: later,
  },
  {
    what: 'that failed before',
    of: [condition('Ready', 'Unknown', paused(later)), condition('Synced', 'False', paused(created))],
    is: later,
  },
  { what: 'that does not show it yet', of: [condition('Ready', 'True')], is: undefined },
  { what: 'with an invalid time', of: [condition('Ready', 'Unknown', paused('soon'))], is: undefined },
])('since when an object is paused: one $what', ({ of, is }) => {
  expect(pausedSince(conditions(...of))).toBe(is === undefined ? undefined : Date.parse(is));
});
