/** The Prometheus metrics of the process, for both programs. */
import { collectDefaultMetrics, type Registry } from 'prom-client';

/**
 * Node's lists behind these are undocumented, and reading that of the handles aborts the whole process when one of them has been collected as
 * garbage but is not closed yet (seen in Node 24.21). `nodejs_active_resources` counts the same by a documented function, which passes such over.
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
