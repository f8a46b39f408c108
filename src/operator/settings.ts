/** The operator's settings: one table that the command line, its help and the validation are derived from. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { z } from 'zod';
import { botUser } from '../resources/bot-user.ts';
import { idOf } from '../resources/definition/id.ts';
import { CLUSTER_ID } from '../resources/definition/manager.ts';
import { user } from '../resources/user.ts';
import { healthListener } from '../settings/health-listener.ts';
import {
  apiBaseUrl,
  apiBaseUrls,
  apiKeyText,
  duration,
  names,
  onOff,
  someNames,
  wholeNumber,
} from '../settings/schemas.ts';
import type { Settings, Values } from '../settings/settings.ts';
import { LabelSelector } from './kube/label-selector.ts';

const labelSelector = (message: string) =>
  z.string().transform((text, context) => {
    const selector = LabelSelector.parse(text);
    if (selector) return selector;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

export const operatorSettings = {
  apiUrl: {
    env: 'TUNNEL_API_URL',
    flag: '--api-url <url>',
    description: 'URL of the management API',
    schema: apiBaseUrl,
  },
  apiKey: {
    env: 'TUNNEL_API_KEY',
    description:
      'API key of the operator; BotUsers, events, and API keys and credentials of other owners need one of an admin',
    schema: apiKeyText,
    secret: true,
    followed: true,
  },
  acceptNewOwner: {
    env: 'ACCEPT_NEW_OWNER',
    flag: '--accept-new-owner <id>',
    description:
      'user or bot that owns the API key from now on; needed once when the owner changes, since creates under way are then not found again',
    schema: idOf(user.prefix, botUser.prefix).optional(),
  },
  clusterId: {
    env: 'CLUSTER_ID',
    flag: '--cluster-id <id>',
    description:
      'tells this cluster from others with the same API, which remembers it with each resource; default: the UID of the namespace kube-system',
    schema: z.string().regex(CLUSTER_ID, 'must be 1 to 63 letters, digits and ". _ -"').optional(),
  },
  takeOverFrom: {
    env: 'TAKE_OVER_FROM',
    flag: '--take-over-from <ids>',
    description:
      'ids of clusters, separated by commas, that no longer exist: their resources are taken over by the objects that name them, such as restored ones',
    schema: z
      .string()
      .transform((text) => text.split(',').map((id) => id.trim()))
      .refine((ids) => ids.every((id) => CLUSTER_ID.test(id)), 'must be ids of clusters separated by commas')
      .optional(),
  },
  kubeconfig: {
    env: 'KUBECONFIG',
    flag: '--kubeconfig <file>',
    description: 'cluster to connect to; default: the service account in a Pod, else ~/.kube/config',
    schema: z.string().optional(),
  },
  namespaces: {
    env: 'WATCH_NAMESPACE',
    flag: '--namespace <name>',
    description: 'watch only this namespace; several, separated by commas or by repeating the flag; default: all',
    isRepeatable: true,
    schema: someNames.optional(),
  },
  namespaceSelector: {
    env: 'WATCH_NAMESPACE_SELECTOR',
    flag: '--namespace-selector <selector>',
    description: 'watch only the namespaces whose labels match, also those that come to match later',
    schema: labelSelector('must be a label selector, such as team=shop or tunnels notin (off)').optional(),
  },
  shardSelector: {
    env: 'SHARD_SELECTOR',
    flag: '--shard-selector <selector>',
    description: 'take only objects whose labels match, and leave the others to other operators; default: all',
    schema: labelSelector('must be a label selector, such as shard=a or shard!=a').optional(),
  },
  adoptNamespaces: {
    env: 'ADOPT_NAMESPACES',
    flag: '--adopt-namespaces <names>',
    description:
      'namespaces, separated by commas, in which objects may adopt and observe existing resources, and name them by id; "-" for none; default: all',
    schema: names.optional(),
  },
  requireConnection: {
    env: 'REQUIRE_CONNECTION',
    flag: '--require-connection <true|false>',
    description:
      "refuse objects for which there is no APIConnection, ClusterAPIConnection or Account, instead of using the operator's own API key",
    default: 'false',
    schema: onOff,
  },
  connectionUrls: {
    env: 'CONNECTION_URLS',
    flag: '--connection-urls <urls>',
    description:
      'URLs, separated by commas, that APIConnections may have besides that of the operator and those at public addresses',
    schema: apiBaseUrls.optional(),
  },
  allowUserApiKeys: {
    env: 'ALLOW_USER_API_KEYS',
    flag: '--allow-user-api-keys <true|false>',
    description:
      "let an APIKey belong to a user, who may be an admin: one without an owner belongs to that of the operator's own key",
    default: 'false',
    schema: onOff,
  },
  concurrency: {
    env: 'CONCURRENCY',
    flag: '--concurrency <n>',
    description: 'maximum concurrent reconciles per kind',
    default: '16',
    schema: wholeNumber(1, 512),
  },
  apiConcurrency: {
    env: 'API_CONCURRENCY',
    flag: '--api-concurrency <n>',
    description: 'maximum concurrent requests to the management API, across all kinds',
    default: '32',
    schema: wholeNumber(1, 512),
  },
  apiTimeoutMs: {
    env: 'API_TIMEOUT',
    flag: '--api-timeout <duration>',
    description: 'timeout of a request to the management API',
    default: '15s',
    schema: duration('100ms', '10m'),
  },
  kubeTimeoutMs: {
    env: 'KUBE_TIMEOUT',
    flag: '--kube-timeout <duration>',
    description: 'timeout of a request to the Kubernetes API',
    default: '30s',
    schema: duration('100ms', '10m'),
  },
  resyncMs: {
    env: 'RESYNC_INTERVAL',
    flag: '--resync-interval <duration>',
    description: 'how often all objects are compared with the management API',
    default: '5m',
    schema: duration('1s', '480h'),
  },
  silenceMs: {
    env: 'WATCH_SILENCE_TIMEOUT',
    flag: '--watch-silence-timeout <duration>',
    description: 'close and resume a watch that has been silent for this long',
    default: '3m',
    schema: duration('1s', '24h'),
  },
  leaderElect: {
    env: 'LEADER_ELECT',
    flag: '--leader-elect <true|false>',
    description: 'elect a leader; only the leader reconciles',
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
    description: 'another replica takes over if the leader does not renew for this long',
    default: '15s',
    schema: duration('1s', '1h'),
  },
  identity: {
    env: 'POD_NAME',
    flag: '--identity <name>',
    description: 'name of this process in the Lease and in Kubernetes Events; each replica needs one of its own',
    // In containers, which may share the name of their host, each process has the same id.
    default: `${hostname()}-${randomBytes(4).toString('hex')}`,
    schema: z.string().min(1),
  },
  ...healthListener,
  shutdownMs: {
    env: 'SHUTDOWN_TIMEOUT',
    flag: '--shutdown-timeout <duration>',
    description: 'how long to wait for reconciles in progress when stopping',
    default: '25s',
    schema: duration('0s', '1h'),
  },
} as const satisfies Settings;

/** Why settings cannot be combined; undefined if they can. */
export function namespacesProblem(
  settings: Pick<OperatorConfig, 'namespaces' | 'namespaceSelector'>,
): string | undefined {
  if (settings.namespaces === undefined || settings.namespaceSelector === undefined) return undefined;
  return 'set --namespace (WATCH_NAMESPACE) or --namespace-selector (WATCH_NAMESPACE_SELECTOR), not both';
}

export interface OperatorConfig extends Values<typeof operatorSettings> {
  /** What the file of TUNNEL_API_KEY holds now, if it is given as a file. */
  latestApiKey?: (() => string) | undefined;
}

/** Why the kubeconfig of the settings cannot be used, in one line; undefined if it can. */
export async function kubeconfigProblem(file: string | undefined): Promise<string | undefined> {
  // Imported here: loading it takes longer than the other commands take to start.
  const { loadKubeConfig } = await import('./kube/kube-config.ts');
  const subject =
    file === undefined
      ? 'without --kubeconfig, ~/.kube/config'
      : `--kubeconfig or KUBECONFIG is ${JSON.stringify(file)}, which`;
  let server: string | undefined;
  try {
    server = loadKubeConfig(file).getCurrentCluster()?.server;
  } catch (error) {
    // Only the first line: the others quote the file, which holds keys.
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    return `${subject} cannot be loaded: ${reason}`;
  }
  if (server === undefined) return `${subject} has no current context with a cluster`;
  return URL.canParse(server) ? undefined : `${subject} has a server that is not a URL: ${JSON.stringify(server)}`;
}
