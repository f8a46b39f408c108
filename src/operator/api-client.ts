/** The operator's clients of the management API: they share one budget, and every attempt is counted. */
import type { Agent } from 'undici';
import { type Client, createClient } from '../client/client.ts';
import type { ApiClock } from '../client/clock.ts';
import { traceHttpCall } from '../tracing/http-call.ts';
import type { Tracing } from '../tracing/tracing.ts';
import type { ApiBudget } from './controller/api-budget.ts';
import type { OperatorMetrics } from './metrics.ts';
import type { OperatorConfig } from './settings.ts';

export interface ApiClientOptions {
  userAgent: string;
  budget: ApiBudget;
  metrics: OperatorMetrics;
  tracing: Tracing | undefined;
  clock: ApiClock;
  /** Makes the connections; the client has an agent of its own without it. */
  agent?: Agent;
  /** In which all calls are made, instead of the account of the key. */
  account?: string;
  /** As metrics name it; undefined for the operator's own API key. */
  connection?: string;
  /** The key to send now. Default: that of the settings. */
  apiKey?: () => string;
  /** Resolves when a call may be made; it fails with the reason otherwise. */
  mayCall?: () => Promise<void>;
  onUnauthenticated?: () => void;
  /** If it throws, the answer is not used. */
  onInstallation: (id: string) => void;
}

export function createApiClient(config: OperatorConfig, options: ApiClientOptions): Client {
  const {
    userAgent,
    budget,
    metrics,
    tracing,
    clock,
    agent,
    account,
    connection,
    apiKey = () => config.apiKey,
    mayCall = async () => {},
    onUnauthenticated,
    onInstallation,
  } = options;
  return createClient({
    baseUrl: config.apiUrl,
    apiKey,
    timeoutMs: config.apiTimeoutMs,
    // An API that a user of the cluster has chosen may have no last page.
    ...(connection !== undefined && { listTimeoutMs: LONGEST_LIST_MS }),
    // The work queue retries, with a backoff per object.
    retries: 0,
    ...(agent ? { agent } : { connections: config.apiConcurrency }),
    userAgent,
    account,
    clock,
    ...(tracing && { trace: (request) => traceHttpCall(tracing, request) }),
    onInstallation,
    prepare: async () => {
      // A key that is new by then must be permitted as well.
      for (let key: string | undefined; key !== apiKey(); ) {
        key = apiKey();
        await mayCall();
      }
    },
    admit: budget.admit,
    onAttempt: ({ method, status, seconds }) => {
      metrics.apiRequests.inc({ method, code: codeOf(status) });
      metrics.apiRequestTime.observe({ method }, seconds);
      if (connection !== undefined) metrics.connectionRequests.inc({ connection, code: codeOf(status) });
      if (status === 401) onUnauthenticated?.();
    },
  });
}

const LONGEST_LIST_MS = 600_000;

const codeOf = (status: number | undefined) => (status === undefined ? '<error>' : String(status));

/** The key to send now. */
export function latestKey(
  { apiKey, latestApiKey = () => apiKey }: Pick<OperatorConfig, 'apiKey' | 'latestApiKey'>,
  onChange: () => void,
): () => string {
  let known = apiKey;
  return () => {
    const latest = latestApiKey();
    if (latest !== known) onChange();
    known = latest;
    return latest;
  };
}
