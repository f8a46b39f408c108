/** The tables of docs/metrics.md, from the metric registries of both programs. */
import { z } from 'zod';
import { createMetrics as createApiMetrics } from '../src/api/telemetry/metrics.ts';
import { createMetrics as createOperatorMetrics } from '../src/operator/metrics.ts';

const described = z.object({
  name: z.string(),
  help: z.string(),
  type: z.enum(['counter', 'gauge', 'histogram', 'summary']),
  labelNames: z.array(z.string()),
});
export type Metric = z.output<typeof described>;

export interface Metrics {
  readonly api: readonly Metric[];
  readonly operator: readonly Metric[];
  /** The default metrics of prom-client; there are more on Linux than elsewhere. */
  readonly process: readonly Metric[];
}

/** Every metric that either program registers, by name. */
export function allMetrics(): Metrics {
  const api = createApiMetrics({
    db: { usage: () => ({ total: 0, idle: 0, waiting: 0 }) },
    bytes: { total: () => 0 },
    connections: { open: new Map(), refused: () => 0 },
  });
  const [ofApi, ofOperator] = [api, createOperatorMetrics()].map(({ registry }) =>
    z
      .array(described)
      .parse(registry.getMetricsAsArray())
      .sort((a, b) => a.name.localeCompare(b.name, 'en')),
  );
  const isIn = (metrics: readonly Metric[] = [], { name }: Metric) => metrics.some((metric) => metric.name === name);
  return {
    api: (ofApi ?? []).filter((metric) => !isIn(ofOperator, metric)),
    operator: (ofOperator ?? []).filter((metric) => !isIn(ofApi, metric)),
    process: (ofApi ?? []).filter((metric) => isIn(ofOperator, metric)),
  };
}

export function metricsTable(metrics: readonly Metric[]): string {
  const rows = metrics.map(({ name, type, labelNames, help }) => {
    const labels = labelNames.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${labels} | ${help} |`;
  });
  return ['| Metric | Type | Labels | Meaning |', '|---|---|---|---|', ...rows].join('\n');
}
