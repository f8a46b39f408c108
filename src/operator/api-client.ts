/** The operator's client of the management API: all kinds share one budget, and every attempt is counted. */
import { type Client, createClient } from '../client/client.ts';
import type { ApiBudget } from './controller/api-budget.ts';
import type { OperatorMetrics } from './metrics.ts';
import type { OperatorConfig } from './settings.ts';

export function createApiClient(
  config: OperatorConfig,
  userAgent: string,
  budget: ApiBudget,
  metrics: OperatorMetrics,
): Client {
  return createClient({
    baseUrl: config.apiUrl,
    apiKey: config.apiKey,
    timeoutMs: config.apiTimeoutMs,
    // The work queue retries, with a backoff per object.
    retries: 0,
    connections: config.apiConcurrency,
    userAgent,
    admit: budget.admit,
    onAttempt: ({ method, status, seconds }) => {
      metrics.apiRequests.inc({ method, code: status === undefined ? '<error>' : String(status) });
      metrics.apiRequestTime.observe({ method }, seconds);
    },
  });
}
