/** Alerts and dashboard ask for metrics and labels that the programs have. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createMetrics } from '../../src/operator/metrics.ts';
import { startTestApi } from '../api/harness.ts';
import { CHART } from './helm.ts';

const alerts = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
});
const dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
});

const file = (name: string) => readFile(join(CHART, 'files', name), 'utf8');
const { groups } = alerts.parse(parse(await file('alerts.yaml')));
const { panels } = dashboard.parse(JSON.parse(await file('dashboard.json')));
const queries = [
  ...groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ name: alert, expr }))),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ name: title, expr }))),
];

/** What Prometheus, Kubernetes and Grafana add to every series. */
const ADDED = ['job', 'namespace', 'pod', 'le'];

let known: Map<string, readonly string[]>;

beforeAll(async () => {
  const api = await startTestApi();
  await api.app.inject({ url: '/ip_policies' });
  const { body } = await api.app.inject({ url: '/metrics' });
  const ofApi = [...body.matchAll(/^([a-z]\w*)(?:\{(.*)\})? /gm)].map(
    ([, name = '', labels = '']) => [name, [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label)] as const,
  );
  const ofOperator = createMetrics()
    .registry.getMetricsAsArray()
    .flatMap((metric) => {
      const { labelNames = [] } = z.object({ labelNames: z.array(z.string()).optional() }).parse(metric);
      return [metric.name, `${metric.name}_count`, `${metric.name}_bucket`].map((name) => [name, labelNames] as const);
    });
  known = new Map([...ofOperator, ...ofApi, ['up', []]]);
});

test.each(queries)('$name asks for what there is', ({ expr }) => {
  const asked = [...expr.matchAll(/([a-z]\w*)\{(.*?)\}/g)];
  expect(asked.length).toBeGreaterThan(0);
  const labels: string[] = [];
  for (const [, name = '', matchers = ''] of asked) {
    const found = known.get(name);
    expect(found, name).toBeDefined();
    labels.push(...(found ?? []));
    const matched = [...matchers.matchAll(/(\w+)=/g)].map(([, label = '']) => label);
    expect([...ADDED, ...(found ?? [])]).toEqual(expect.arrayContaining(matched));
  }
  const grouped = [...expr.matchAll(/by \((.*?)\)/g)].flatMap(([, names = '']) => names.split(/, */));
  expect([...ADDED, ...labels]).toEqual(expect.arrayContaining(grouped));
});
