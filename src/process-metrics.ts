/** The Prometheus metrics of the process, for both programs. */
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { BUILD } from './build.ts';

/**
 * These metrics read undocumented lists of Node. Reading the list of handles aborts the process if a handle has been
 * garbage-collected but not yet closed (seen in Node 24.21). `nodejs_active_resources` counts the same with a
 * documented function, which skips such handles.
 */
const UNSAFE = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
];

type Options = NonNullable<Parameters<typeof collectDefaultMetrics>[0]>;

/** Adds the default metrics of prom-client to the registry, without those that can end the process. */
export function collectProcessMetrics(register: Registry, options: Pick<Options, 'eventLoopMonitoringPrecision'> = {}) {
  collectDefaultMetrics({ register, ...options });
  for (const name of UNSAFE) register.removeSingleMetric(name);
}

/** Adds what runs, as `…_build_info`. */
export function showBuild(register: Registry, prefix: string): void {
  const gauge = new Gauge({
    name: `${prefix}_build_info`,
    help: 'The version, commit and Node.js version that run; the value is always 1.',
    labelNames: ['version', 'commit', 'node_version'],
    registers: [register],
  });
  gauge.set({ ...BUILD, node_version: process.versions.node }, 1);
}
