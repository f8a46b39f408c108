/** Settings of the API: one table, from which the command line's help and the validation come. */
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { duration, httpUrl, wholeNumber } from '../settings/schemas.ts';
import type { Settings, Values } from '../settings/settings.ts';
import { LOAD_LIMITS } from './http/load-shedding.ts';
import { acmeAuthority, DEFAULT_PLATFORM, serviceDomains } from './http/platform.ts';
import { RATE_LIMITS } from './http/rate-limit.ts';
import { keyring } from './secrets/keyring.ts';

const MIB = 1024 * 1024;

/** Where a PostgreSQL is. */
export const postgresUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'must be a postgres:// URL' });

const baseUrl = httpUrl
  .refine((url) => !/[?#]/.test(url), 'must have no query and no fragment')
  .transform((url) => url.replace(/\/+$/, ''));

const networks = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine(
    (parts) => parts.every((part) => ipaddr.isValid(part) || ipaddr.isValidCIDR(part)),
    'must be IP addresses and networks with commas between, as in 10.0.0.0/8,2001:db8::1',
  );

export const apiSettings = {
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
    default: '.data/postgres',
    schema: z.string().min(1, 'must not be empty'),
  },
  host: {
    env: 'HOST',
    flag: '--host <address>',
    description: 'address to listen on',
    default: '127.0.0.1',
    schema: z.string().min(1, 'must not be empty'),
  },
  port: {
    env: 'PORT',
    flag: '--port <number>',
    description: 'port to listen on; 0 takes a free one',
    default: '8080',
    schema: wholeNumber(0, 65_535),
  },
  baseUrl: {
    env: 'BASE_URL',
    flag: '--base-url <url>',
    description: 'what links in answers start with; default: as the request addressed the server',
    schema: baseUrl.optional(),
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
    schema: keyring.optional(),
  },
  serviceDomains: {
    env: 'SERVICE_DOMAINS',
    flag: '--service-domains <domains>',
    description: "the service's own domains, with commas between; CNAME targets are below the first",
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
    description: 'most connections to the database',
    default: '20',
    schema: wholeNumber(1, 1000),
  },
  statementTimeoutMs: {
    env: 'DATABASE_STATEMENT_TIMEOUT',
    flag: '--database-statement-timeout <duration>',
    description: 'longest time for one database statement',
    default: '10s',
    schema: duration('100ms', '10m'),
  },
  connectTimeoutMs: {
    env: 'DATABASE_CONNECT_TIMEOUT',
    flag: '--database-connect-timeout <duration>',
    description: 'longest wait for a database connection',
    default: '5s',
    schema: duration('100ms', '10m'),
  },
  bodyLimit: {
    env: 'BODY_LIMIT',
    flag: '--body-limit <bytes>',
    description: 'most bytes of a request body',
    default: String(MIB),
    schema: wholeNumber(1024, 64 * MIB),
  },
  requestTimeoutMs: {
    env: 'REQUEST_TIMEOUT',
    flag: '--request-timeout <duration>',
    description: 'longest time to receive one request',
    default: '30s',
    schema: duration('100ms', '10m'),
  },
  handlerTimeoutMs: {
    env: 'HANDLER_TIMEOUT',
    flag: '--handler-timeout <duration>',
    description: 'longest time from the headers of a request to its answer, 0s for no limit',
    default: '25s',
    schema: duration('0s', '10m'),
  },
  rateLimit: {
    env: 'RATE_LIMIT',
    flag: '--rate-limit <number>',
    description: 'most requests of one API key in a second, 0 for no limit',
    default: String(RATE_LIMITS.perKey),
    schema: wholeNumber(0, 1_000_000),
  },
  rateLimitUnauthenticated: {
    env: 'RATE_LIMIT_UNAUTHENTICATED',
    flag: '--rate-limit-unauthenticated <number>',
    description: 'most requests of one address without a valid API key in a second, 0 for no limit',
    default: String(RATE_LIMITS.perAddress),
    schema: wholeNumber(0, 1_000_000),
  },
  trustedProxies: {
    env: 'TRUST_PROXY',
    flag: '--trust-proxy <networks>',
    description: 'addresses and networks of proxies whose X-Forwarded-For is believed, with commas between',
    schema: networks.optional(),
  },
  maxEventLoopDelayMs: {
    env: 'MAX_EVENT_LOOP_DELAY',
    flag: '--max-event-loop-delay <duration>',
    description: 'mean delay of the event loop from which on requests are refused, 0s for no limit',
    default: `${LOAD_LIMITS.eventLoopDelayMs / 1000}s`,
    schema: duration('0s', '1m'),
  },
  maxRssBytes: {
    env: 'MAX_RSS_BYTES',
    flag: '--max-rss-bytes <bytes>',
    description: 'memory of the process from which on requests are refused, 0 for no limit',
    default: String(LOAD_LIMITS.rssBytes),
    schema: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  },
} as const satisfies Settings;

export type ApiConfig = Values<typeof apiSettings>;
