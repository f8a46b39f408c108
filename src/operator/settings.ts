/** Settings of the operator: one table from which the command line, its help and the validation come. */
import { hostname } from 'node:os';
import { z } from 'zod';
import { duration, httpUrl, onOff, wholeNumber } from '../settings/schemas.ts';
import type { Settings, Values } from '../settings/settings.ts';

export const operatorSettings = {
  apiUrl: {
    env: 'TUNNEL_API_URL',
    flag: '--api-url <url>',
    description: 'where the management API is',
    schema: httpUrl,
  },
  apiKey: {
    env: 'TUNNEL_API_KEY',
    description: 'API key of the operator; an admin key if credentials may name other owners',
    schema: z.string().min(1, 'must not be empty'),
    secret: true,
  },
  kubeconfig: {
    env: 'KUBECONFIG',
    flag: '--kubeconfig <file>',
    description: 'cluster to work on; default: the service account in a pod, else ~/.kube/config',
    schema: z.string().optional(),
  },
  namespace: {
    env: 'WATCH_NAMESPACE',
    flag: '--namespace <name>',
    description: 'watch this namespace only; default: all',
    schema: z.string().min(1).optional(),
  },
  concurrency: {
    env: 'CONCURRENCY',
    flag: '--concurrency <n>',
    description: 'reconciles at a time, per kind',
    default: '16',
    schema: wholeNumber(1, 512),
  },
  apiConcurrency: {
    env: 'API_CONCURRENCY',
    flag: '--api-concurrency <n>',
    description: 'requests to the management API at a time, over all kinds',
    default: '32',
    schema: wholeNumber(1, 512),
  },
  apiTimeoutMs: {
    env: 'API_TIMEOUT',
    flag: '--api-timeout <duration>',
    description: 'longest wait for an answer of the management API',
    default: '15s',
    schema: duration('100ms', '10m'),
  },
  kubeTimeoutMs: {
    env: 'KUBE_TIMEOUT',
    flag: '--kube-timeout <duration>',
    description: 'longest wait for an answer of the Kubernetes API',
    default: '30s',
    schema: duration('100ms', '10m'),
  },
  resyncMs: {
    env: 'RESYNC_INTERVAL',
    flag: '--resync-interval <duration>',
    description: 'how often everything is compared with the management API',
    default: '5m',
    schema: duration('1s', '480h'),
  },
  silenceMs: {
    env: 'WATCH_SILENCE_TIMEOUT',
    flag: '--watch-silence-timeout <duration>',
    description: 'a watch that says nothing for this long is cut and resumed',
    default: '3m',
    schema: duration('1s', '24h'),
  },
  leaderElect: {
    env: 'LEADER_ELECT',
    flag: '--leader-elect <true|false>',
    description: 'have one of several replicas do the work',
    default: 'true',
    schema: onOff,
  },
  leaseNamespace: {
    env: 'POD_NAMESPACE',
    flag: '--leader-election-namespace <name>',
    description: 'namespace of the Lease',
    default: 'default',
    schema: z.string().min(1),
  },
  leaseMs: {
    env: 'LEASE_DURATION',
    flag: '--leader-election-lease-duration <duration>',
    description: 'others take over when the leader has not renewed for this long',
    default: '15s',
    schema: duration('1s', '1h'),
  },
  identity: {
    env: 'POD_NAME',
    flag: '--identity <name>',
    description: 'name of this process in the Lease and in Events',
    default: `${hostname()}-${process.pid}`,
    schema: z.string().min(1),
  },
  host: {
    env: 'METRICS_HOST',
    flag: '--metrics-host <address>',
    description: 'address for /metrics, /healthz and /readyz',
    default: '0.0.0.0',
    schema: z.string().min(1),
  },
  port: {
    env: 'METRICS_PORT',
    flag: '--metrics-port <port>',
    description: 'port for /metrics, /healthz and /readyz; 0 takes a free one',
    default: '8081',
    schema: wholeNumber(0, 65535),
  },
  shutdownMs: {
    env: 'SHUTDOWN_TIMEOUT',
    flag: '--shutdown-timeout <duration>',
    description: 'longest wait for reconciles under way when stopping',
    default: '25s',
    schema: duration('0s', '1h'),
  },
} as const satisfies Settings;

export type OperatorConfig = Values<typeof operatorSettings>;

/** What keeps the kubeconfig of the settings from being used, in one line; undefined if nothing does. */
export async function kubeconfigProblem(file: string | undefined): Promise<string | undefined> {
  // Here, as it takes longer to load than all the other programs need to start.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  const subject =
    file === undefined
      ? 'without --kubeconfig, ~/.kube/config'
      : `--kubeconfig or KUBECONFIG is ${JSON.stringify(file)}, which`;
  try {
    // As the operator loads it: the variable may hold several paths.
    if (file === undefined || file === process.env.KUBECONFIG) config.loadFromDefault();
    else config.loadFromFile(file);
  } catch (error) {
    // The first line: those behind it quote the file, which holds keys.
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    return `${subject} cannot be loaded: ${reason}`;
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) return `${subject} has no current context with a cluster`;
  return URL.canParse(server) ? undefined : `${subject} has a server that is no URL: ${JSON.stringify(server)}`;
}
