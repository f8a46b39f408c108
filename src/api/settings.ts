/** Settings of the API: one table, for both the help of the command line and the validation. */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { apiBaseUrl, duration, onOff, wholeNumber } from '../settings/schemas.ts';
import type { Settings, Values } from '../settings/settings.ts';
import { certificateSettings } from './certificate-settings.ts';
import { BYTES_IN_FLIGHT } from './guard/bytes-in-flight.ts';
import { CONNECTION_LIMITS } from './guard/connections.ts';
import { LOAD_LIMITS } from './guard/load-shedding.ts';
import { RATE_LIMITS } from './guard/rate-limit.ts';
import { acmeAuthority, DEFAULT_PLATFORM, serviceDomains } from './http/platform.ts';
import { keyring } from './secrets/keyring.ts';
import { connectionUrlProblem } from './store/connection-url.ts';

const MIB = 1024 * 1024;

export const postgresUrl = z.string().superRefine((url, context) => {
  const problem = connectionUrlProblem(url);
  if (problem !== undefined) context.addIssue(problem);
});

const networks = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine(
    (parts) => parts.every((part) => ipaddr.isValid(part) || ipaddr.isValidCIDR(part)),
    'must be comma-separated IP addresses and networks, as in 10.0.0.0/8,2001:db8::1',
  );

const httpHosts = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim().toLowerCase()))
  .refine(
    (hosts) => hosts.every((host) => !host.includes('*') && URL.parse(`http://${host}`)?.hostname === host),
    'must be comma-separated host names or addresses without wildcards and ports, as in broker.example.internal,10.0.0.7',
  );

/** An API key that the user has chosen. */
const givenKey = z
  .string()
  .regex(
    /^[\x21-\x7e]{20,256}$/,
    'must be 20 to 256 printable ASCII characters: no spaces, and no line break at the end',
  );

export const apiSettings = {
  databaseUrl: {
    env: 'DATABASE_URL',
    flag: '--database-url <url>',
    description:
      'PostgreSQL to use, as postgres://user@host/database; if unset, an embedded one is started; if it holds a password, prefer the variable to the flag',
    secret: true,
    followed: true,
    schema: postgresUrl.optional(),
  },
  dataDir: {
    env: 'DATA_DIR',
    flag: '--data-dir <dir>',
    description: 'where the embedded PostgreSQL keeps its data',
    default: '.data/postgres',
    schema: z.string().min(1, 'must not be empty'),
  },
  host: {
    env: 'HOST',
    flag: '--host <address>',
    description: 'address to listen on; :: for all, including IPv4',
    default: '127.0.0.1',
    schema: z.string().min(1, 'must not be empty'),
  },
  port: {
    env: 'PORT',
    flag: '--port <number>',
    description: 'port to listen on; 0 picks a free one',
    default: '8080',
    schema: wholeNumber(0, 65_535),
  },
  baseUrl: {
    env: 'BASE_URL',
    flag: '--base-url <url>',
    description: 'base URL of links in responses; default: http:// and the Host header of the request',
    schema: apiBaseUrl.optional(),
  },
  bootstrapApiKey: {
    env: 'BOOTSTRAP_API_KEY',
    description: 'API key of an admin, created at startup unless it exists',
    secret: true,
    schema: givenKey.optional(),
  },
  operatorApiKey: {
    env: 'OPERATOR_API_KEY',
    description: 'API key for the operator, of a user who is not an admin, created at startup unless it exists',
    secret: true,
    schema: givenKey.optional(),
  },
  encryptionKey: {
    env: 'ENCRYPTION_KEY',
    description:
      'encrypts private keys and client secrets in the database: 32 bytes in base64, or several, comma-separated, of which the first seals and all open; to rotate it, first "old,new" in every process, then "new,old"; each may have a name, as in "id:new"; the embedded PostgreSQL keeps one next to its data',
    secret: true,
    schema: keyring.optional(),
  },
  serviceDomains: {
    env: 'SERVICE_DOMAINS',
    flag: '--service-domains <domains>',
    description: "the service's own domains, comma-separated; CNAME targets are below the first",
    default: DEFAULT_PLATFORM.serviceDomains.join(','),
    schema: serviceDomains,
  },
  acmeAuthority: {
    env: 'ACME_AUTHORITY',
    flag: '--acme-authority <name>',
    description: 'the authority that certificate policies may name',
    default: DEFAULT_PLATFORM.acmeAuthority,
    schema: acmeAuthority,
  },
  poolSize: {
    env: 'DATABASE_POOL_SIZE',
    flag: '--database-pool-size <number>',
    description: 'maximum number of database connections',
    default: '20',
    schema: wholeNumber(1, 1000),
  },
  statementTimeoutMs: {
    env: 'DATABASE_STATEMENT_TIMEOUT',
    flag: '--database-statement-timeout <duration>',
    description: 'maximum time for one database statement',
    default: '10s',
    schema: duration('100ms', '10m'),
  },
  connectTimeoutMs: {
    env: 'DATABASE_CONNECT_TIMEOUT',
    flag: '--database-connect-timeout <duration>',
    description: 'maximum wait for a database connection',
    default: '5s',
    schema: duration('100ms', '10m'),
  },
  bodyLimit: {
    env: 'BODY_LIMIT',
    flag: '--body-limit <bytes>',
    description: 'maximum size of a request body, in bytes',
    default: String(MIB),
    schema: wholeNumber(1024, 64 * MIB),
  },
  requestTimeoutMs: {
    env: 'REQUEST_TIMEOUT',
    flag: '--request-timeout <duration>',
    description: 'maximum time to receive one request',
    default: '30s',
    schema: duration('100ms', '10m'),
  },
  handlerTimeoutMs: {
    env: 'HANDLER_TIMEOUT',
    flag: '--handler-timeout <duration>',
    description: 'maximum time from the end of a request to its response; 0s for no limit',
    default: '25s',
    schema: duration('0s', '10m'),
  },
  bytesInFlightPerKey: {
    env: 'MAX_BYTES_IN_FLIGHT_PER_KEY',
    flag: '--max-bytes-in-flight-per-key <bytes>',
    description: 'bodies and unsent responses, in bytes, that one API key may have at once; 0 for no limit',
    default: String(BYTES_IN_FLIGHT.perKey),
    schema: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  },
  bytesInFlightPerOwner: {
    env: 'MAX_BYTES_IN_FLIGHT_PER_OWNER',
    flag: '--max-bytes-in-flight-per-owner <bytes>',
    description: 'the same for all API keys of one owner',
    default: String(BYTES_IN_FLIGHT.perOwner),
    schema: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  },
  bytesInFlight: {
    env: 'MAX_BYTES_IN_FLIGHT',
    flag: '--max-bytes-in-flight <bytes>',
    description: 'the same for all callers',
    default: String(BYTES_IN_FLIGHT.inAll),
    schema: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  },
  metricsPort: {
    env: 'METRICS_PORT',
    flag: '--metrics-port <number>',
    description: 'port that serves /metrics instead of the port of the API; 0 picks a free one',
    schema: wholeNumber(0, 65_535).optional(),
  },
  rateLimit: {
    env: 'RATE_LIMIT',
    flag: '--rate-limit <number>',
    description: 'maximum requests per second with one API key; 0 for no limit',
    default: String(RATE_LIMITS.perKey),
    schema: wholeNumber(0, 1_000_000),
  },
  rateLimitPerOwner: {
    env: 'RATE_LIMIT_PER_OWNER',
    flag: '--rate-limit-per-owner <number>',
    description: 'maximum requests per second with all API keys of one user or bot; 0 for no limit',
    default: String(RATE_LIMITS.perOwner),
    schema: wholeNumber(0, 1_000_000),
  },
  rateLimitUnauthenticated: {
    env: 'RATE_LIMIT_UNAUTHENTICATED',
    flag: '--rate-limit-unauthenticated <number>',
    description: 'maximum requests per second from one address without a valid API key; 0 for no limit',
    default: String(RATE_LIMITS.perAddress),
    schema: wholeNumber(0, 1_000_000),
  },
  eventRetentionMs: {
    env: 'EVENT_RETENTION',
    flag: '--event-retention <duration>',
    description: 'how long events are kept; up to three times as long while a delivery of theirs is pending',
    default: '720h',
    schema: duration('1h', '87600h'),
  },
  eventDeliveryRetentionMs: {
    env: 'EVENT_DELIVERY_RETENTION',
    flag: '--event-delivery-retention <duration>',
    description: 'how long deliveries of events can be seen and sent again after their last attempt',
    default: '720h',
    schema: duration('1h', '87600h'),
  },
  eventDelivery: {
    env: 'EVENT_DELIVERY',
    flag: '--event-delivery <true|false>',
    description: 'deliver events in this process; false if `tunnel-operator worker` delivers them',
    default: 'true',
    schema: onOff,
  },
  eventAllowNetworks: {
    env: 'EVENT_ALLOW_NETWORKS',
    flag: '--event-allow-networks <networks>',
    description:
      'addresses and networks, comma-separated, that events may be sent to although they are not public; link-local ones and others where clouds serve credentials stay forbidden',
    schema: networks.optional(),
  },
  eventHttpHosts: {
    env: 'EVENT_HTTP_HOSTS',
    flag: '--event-http-hosts <hosts>',
    description:
      'hosts, comma-separated, that events may be sent to by plain http, such as a broker in the cluster; its addresses also need EVENT_ALLOW_NETWORKS',
    schema: httpHosts.optional(),
  },
  ...certificateSettings,
  maxConnections: {
    env: 'MAX_CONNECTIONS',
    flag: '--max-connections <number>',
    description: 'maximum number of client connections',
    default: String(CONNECTION_LIMITS.most),
    schema: wholeNumber(1, 1_000_000),
  },
  maxConnectionsPerAddress: {
    env: 'MAX_CONNECTIONS_PER_ADDRESS',
    flag: '--max-connections-per-address <number>',
    description:
      'maximum number of connections of one client address; 0 for no limit; default: half of all connections',
    schema: wholeNumber(0, 1_000_000).optional(),
  },
  trustedProxies: {
    env: 'TRUST_PROXY',
    flag: '--trust-proxy <networks>',
    description: 'addresses and networks of proxies whose X-Forwarded-For is trusted, comma-separated',
    schema: networks.optional(),
  },
  maxEventLoopDelayMs: {
    env: 'MAX_EVENT_LOOP_DELAY',
    flag: '--max-event-loop-delay <duration>',
    description: 'mean delay of the event loop above which requests are refused; 0s for no limit',
    default: `${LOAD_LIMITS.eventLoopDelayMs / 1000}s`,
    schema: duration('0s', '1m'),
  },
  maxRssBytes: {
    env: 'MAX_RSS_BYTES',
    flag: '--max-rss-bytes <bytes>',
    description: 'memory of the process, in bytes, above which requests are refused; 0 for no limit',
    default: String(LOAD_LIMITS.rssBytes),
    schema: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  },
  shutdownDelayMs: {
    env: 'SHUTDOWN_DELAY',
    flag: '--shutdown-delay <duration>',
    description:
      'how long to keep serving after SIGTERM, while /readyz already fails; counts towards the shutdown timeout, which must be 3s longer (if it is below 10s: longer by a fifth of it plus 1s)',
    default: '0s',
    schema: duration('0s', '10m'),
  },
  shutdownTimeoutMs: {
    env: 'SHUTDOWN_TIMEOUT',
    flag: '--shutdown-timeout <duration>',
    description: 'maximum time from SIGTERM to the end of the process',
    default: '25s',
    schema: duration('1s', '10m'),
  },
} as const satisfies Settings;

export interface ApiConfig extends Values<typeof apiSettings> {
  /** What the file of DATABASE_URL holds now, if it is given as a file. */
  latestDatabaseUrl?: (() => string | undefined) | undefined;
}
