/** Settings of the API: one table, from which the command line's help and the validation come. */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { wholeNumber } from '../settings/whole-number.ts';
import { LOAD_LIMITS } from './http/load-shedding.ts';
import { acmeAuthoritySetting, DEFAULT_PLATFORM, serviceDomainsSetting } from './http/platform.ts';
import { RATE_LIMITS } from './http/rate-limit.ts';
import { encryptionKeySetting } from './secrets/keyring.ts';

const MIB = 1024 * 1024;

/** Where a PostgreSQL is. */
export const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' });

const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((url) => !/[?#]/.test(url), 'must have no query and no fragment')
  .transform((url) => url.replace(/\/+$/, ''));

const networks = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine(
    (parts) => parts.every((part) => ipaddr.isValid(part) || ipaddr.isValidCIDR(part)),
    'must be IP addresses and networks with commas between, as in 10.0.0.0/8,2001:db8::1',
  );

const settings = {
  databaseUrl: {
    env: 'DATABASE_URL',
    flag: '--database-url <url>',
    description:
      'PostgreSQL to use, without one an embedded PostgreSQL is started; with a password better as the variable',
    secret: true,
    schema: postgresUrl.optional(),
  },
  dataDir: {
    env: 'DATA_DIR',
    flag: '--data-dir <dir>',
    description: 'where the embedded PostgreSQL keeps its data',
    secret: false,
    schema: z.string().min(1, 'must not be empty').default('.data/postgres'),
  },
  host: {
    env: 'HOST',
    flag: '--host <address>',
    description: 'address to listen on',
    secret: false,
    schema: z.string().min(1, 'must not be empty').default('127.0.0.1'),
  },
  port: {
    env: 'PORT',
    flag: '--port <number>',
    description: 'port to listen on; 0 takes a free one',
    secret: false,
    schema: wholeNumber(0, 65_535).default(8080),
  },
  baseUrl: {
    env: 'BASE_URL',
    flag: '--base-url <url>',
    description: 'what links in answers start with; default: as the request addressed the server',
    secret: false,
    schema: httpUrl.optional(),
  },
  bootstrapApiKey: {
    env: 'BOOTSTRAP_API_KEY',
    description: 'API key of an admin that is made to exist at start',
    secret: true,
    schema: z
      .string()
      .regex(/^[\x21-\x7e]{20,256}$/, 'must be 20 to 256 printable ASCII characters')
      .optional(),
  },
  encryptionKey: {
    env: 'ENCRYPTION_KEY',
    description:
      'seals private keys and client secrets in the database: 32 bytes in base64; to change it, "new,old" (or "id:new,id:old"); the embedded PostgreSQL has one beside its data',
    secret: true,
    schema: encryptionKeySetting.optional(),
  },
  serviceDomains: {
    env: 'SERVICE_DOMAINS',
    flag: '--service-domains <domains>',
    description: "the service's own domains, with commas between; CNAME targets are below the first",
    secret: false,
    schema: serviceDomainsSetting.default(DEFAULT_PLATFORM.serviceDomains.join(',')),
  },
  acmeAuthority: {
    env: 'ACME_AUTHORITY',
    flag: '--acme-authority <name>',
    description: 'the authority that certificate policies may name',
    secret: false,
    schema: acmeAuthoritySetting.default(DEFAULT_PLATFORM.acmeAuthority),
  },
  logLevel: {
    env: 'LOG_LEVEL',
    flag: '--log-level <level>',
    description: 'least severe level that is logged',
    secret: false,
    schema: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  },
  poolSize: {
    env: 'DATABASE_POOL_SIZE',
    flag: '--database-pool-size <number>',
    description: 'most connections to the database',
    secret: false,
    schema: wholeNumber(1, 1000).default(20),
  },
  statementTimeoutMs: {
    env: 'DATABASE_STATEMENT_TIMEOUT_MS',
    flag: '--database-statement-timeout-ms <ms>',
    description: 'longest time for one database statement',
    secret: false,
    schema: wholeNumber(100, 600_000).default(10_000),
  },
  connectTimeoutMs: {
    env: 'DATABASE_CONNECT_TIMEOUT_MS',
    flag: '--database-connect-timeout-ms <ms>',
    description: 'longest wait for a database connection',
    secret: false,
    schema: wholeNumber(100, 600_000).default(5_000),
  },
  bodyLimit: {
    env: 'BODY_LIMIT',
    flag: '--body-limit <bytes>',
    description: 'most bytes of a request body',
    secret: false,
    schema: wholeNumber(1024, 64 * MIB).default(MIB),
  },
  requestTimeoutMs: {
    env: 'REQUEST_TIMEOUT_MS',
    flag: '--request-timeout-ms <ms>',
    description: 'longest time to receive one request',
    secret: false,
    schema: wholeNumber(100, 600_000).default(30_000),
  },
  handlerTimeoutMs: {
    env: 'HANDLER_TIMEOUT_MS',
    flag: '--handler-timeout-ms <ms>',
    description: 'longest time from the headers of a request to its answer, 0 for no limit',
    secret: false,
    schema: wholeNumber(0, 600_000).default(25_000),
  },
  rateLimit: {
    env: 'RATE_LIMIT',
    flag: '--rate-limit <number>',
    description: 'most requests of one API key in a second, 0 for no limit',
    secret: false,
    schema: wholeNumber(0, 1_000_000).default(RATE_LIMITS.perKey),
  },
  rateLimitUnauthenticated: {
    env: 'RATE_LIMIT_UNAUTHENTICATED',
    flag: '--rate-limit-unauthenticated <number>',
    description: 'most requests of one address without a valid API key in a second, 0 for no limit',
    secret: false,
    schema: wholeNumber(0, 1_000_000).default(RATE_LIMITS.perAddress),
  },
  trustedProxies: {
    env: 'TRUST_PROXY',
    flag: '--trust-proxy <networks>',
    description: 'addresses and networks of proxies whose X-Forwarded-For is believed, with commas between',
    secret: false,
    schema: networks.optional(),
  },
  maxEventLoopDelayMs: {
    env: 'MAX_EVENT_LOOP_DELAY_MS',
    flag: '--max-event-loop-delay-ms <ms>',
    description: 'mean delay of the event loop from which on requests are refused, 0 for no limit',
    secret: false,
    schema: wholeNumber(0, 60_000).default(LOAD_LIMITS.eventLoopDelayMs),
  },
  maxRssBytes: {
    env: 'MAX_RSS_BYTES',
    flag: '--max-rss-bytes <bytes>',
    description: 'memory of the process from which on requests are refused, 0 for no limit',
    secret: false,
    schema: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(LOAD_LIMITS.rssBytes),
  },
} as const satisfies Record<string, ApiSetting>;

export interface ApiSetting {
  /** Environment variable. */
  env: string;
  /** As commander takes it; absent for what must not show in a process list. */
  flag?: string;
  description: string;
  /** Not to be shown, not even in an error. */
  secret: boolean;
  /** From text or a value of the right type. */
  schema: z.ZodType;
}

export const apiSettings: Readonly<Record<keyof typeof settings, ApiSetting>> = settings;

/** All settings; parses text (environment, flags) as well as values of the right type, and fills in defaults. */
export const apiConfig = z.strictObject({
  databaseUrl: settings.databaseUrl.schema,
  dataDir: settings.dataDir.schema,
  host: settings.host.schema,
  port: settings.port.schema,
  baseUrl: settings.baseUrl.schema,
  bootstrapApiKey: settings.bootstrapApiKey.schema,
  encryptionKey: settings.encryptionKey.schema,
  serviceDomains: settings.serviceDomains.schema,
  acmeAuthority: settings.acmeAuthority.schema,
  logLevel: settings.logLevel.schema,
  poolSize: settings.poolSize.schema,
  statementTimeoutMs: settings.statementTimeoutMs.schema,
  connectTimeoutMs: settings.connectTimeoutMs.schema,
  bodyLimit: settings.bodyLimit.schema,
  requestTimeoutMs: settings.requestTimeoutMs.schema,
  handlerTimeoutMs: settings.handlerTimeoutMs.schema,
  rateLimit: settings.rateLimit.schema,
  rateLimitUnauthenticated: settings.rateLimitUnauthenticated.schema,
  trustedProxies: settings.trustedProxies.schema,
  maxEventLoopDelayMs: settings.maxEventLoopDelayMs.schema,
  maxRssBytes: settings.maxRssBytes.schema,
});

export type ApiConfig = z.output<typeof apiConfig>;
export type ApiConfigInput = z.input<typeof apiConfig>;
