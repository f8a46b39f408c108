import { describe, expect, test } from 'vitest';
import { apiSettings } from '../../src/api/settings.ts';
import { BadSettings, readSettings, type Setting } from '../../src/settings/settings.ts';

const read = (environment: Record<string, string>) => readSettings(apiSettings, {}, environment);
const settings: Setting[] = Object.values(apiSettings);

describe('the settings of the API', () => {
  test('have defaults that start on a laptop', () => {
    expect(read({})).toEqual({
      databaseUrl: undefined,
      dataDir: '.data/postgres',
      host: '127.0.0.1',
      port: 8080,
      baseUrl: undefined,
      bootstrapApiKey: undefined,
      operatorApiKey: undefined,
      encryptionKey: undefined,
      serviceDomains: ['tunnels.internal'],
      acmeAuthority: 'letsencrypt',
      poolSize: 20,
      statementTimeoutMs: 10_000,
      connectTimeoutMs: 5_000,
      bodyLimit: 1024 * 1024,
      requestTimeoutMs: 30_000,
      handlerTimeoutMs: 25_000,
      bytesInFlightPerKey: 32 * 1024 * 1024,
      bytesInFlightPerOwner: 64 * 1024 * 1024,
      bytesInFlight: 128 * 1024 * 1024,
      metricsPort: undefined,
      rateLimit: 1000,
      rateLimitPerOwner: 2000,
      rateLimitUnauthenticated: 100,
      eventRetentionMs: 30 * 24 * 3_600_000,
      eventDeliveryRetentionMs: 30 * 24 * 3_600_000,
      eventDelivery: true,
      eventAllowNetworks: undefined,
      eventHttpHosts: undefined,
      certificateIssuance: true,
      acmeDirectoryUrl: undefined,
      acmeContacts: undefined,
      acmeExternalKeyId: undefined,
      acmeExternalHmacKey: undefined,
      acmeProfile: undefined,
      acmeTrustedCertificates: undefined,
      acmeSelfCheck: true,
      acmeResolvers: undefined,
      acmeNameServers: undefined,
      acmeDnsPort: undefined,
      acmeDnsHost: '0.0.0.0',
      maxConnections: 10_000,
      maxConnectionsPerAddress: undefined,
      trustedProxies: undefined,
      maxEventLoopDelayMs: 1000,
      maxRssBytes: 0,
      shutdownDelayMs: 0,
      shutdownTimeoutMs: 25_000,
    });
  });

  test.each([
    ['DATA_DIR', 'd', { dataDir: 'd' }],
    ['HOST', 'h', { host: 'h' }],
    ['PORT', '0', { port: 0 }],
    ['BASE_URL', 'https://api.example.com/tunnels/', { baseUrl: 'https://api.example.com/tunnels' }],
    ['SERVICE_DOMAINS', 'example.com, Example.ORG', { serviceDomains: ['example.com', 'example.org'] }],
    ['TRUST_PROXY', '10.0.0.0/8, 2001:db8::1', { trustedProxies: ['10.0.0.0/8', '2001:db8::1'] }],
    ['EVENT_DELIVERY', 'false', { eventDelivery: false }],
    [
      'ACME_CONTACT',
      'a@example.com, b@example.com',
      { acmeContacts: ['mailto:a@example.com', 'mailto:b@example.com'] },
    ],
    ['ACME_RESOLVERS', '10.0.0.10, [2001:db8::1]:53', { acmeResolvers: ['10.0.0.10', '[2001:db8::1]:53'] }],
    ['ACME_DNS_NAMESERVERS', 'ns1.Example.com', { acmeNameServers: ['ns1.example.com'] }],
    ['EVENT_ALLOW_NETWORKS', '10.96.0.0/12', { eventAllowNetworks: ['10.96.0.0/12'] }],
    ['EVENT_HTTP_HOSTS', 'Broker.internal, [::1]', { eventHttpHosts: ['broker.internal', '[::1]'] }],
    [
      'ENCRYPTION_KEY',
      `a:${Buffer.alloc(32, 1).toString('base64')}`,
      { encryptionKey: [{ id: 'a', bytes: Buffer.alloc(32, 1) }] },
    ],
  ])('are read from text: %s=%s', (name, value, expected) => {
    expect(read({ [name]: value })).toMatchObject(expected);
  });

  test('that are wrong are all named', () => {
    const wrong = {
      DATABASE_URL: 'mysql://x',
      PORT: '99999',
      BASE_URL: 'https://x.example/?a=1',
      BOOTSTRAP_API_KEY: 'short',
      OPERATOR_API_KEY: 'short',
      ENCRYPTION_KEY: 'short',
      SERVICE_DOMAINS: 'example.com,*.example.org',
      ACME_AUTHORITY: 'Two Words',
      DATABASE_STATEMENT_TIMEOUT: '10000',
      BODY_LIMIT: 'many',
      HANDLER_TIMEOUT: '-1s',
      RATE_LIMIT: '-1',
      RATE_LIMIT_PER_OWNER: '2.5',
      RATE_LIMIT_UNAUTHENTICATED: 'few',
      EVENT_ALLOW_NETWORKS: '10.0.0.0/33',
      EVENT_HTTP_HOSTS: 'broker.internal:8080',
      CERTIFICATE_ISSUANCE: 'yes',
      ACME_DIRECTORY_URL: 'http://ca.example.com/directory',
      ACME_CONTACT: 'mailto:ops',
      ACME_EXTERNAL_HMAC_KEY: 'a+b/c',
      ACME_TRUSTED_CERTIFICATES: 'ca.pem',
      ACME_SELF_CHECK: '1',
      ACME_RESOLVERS: 'dns.example.com',
      ACME_DNS_NAMESERVERS: 'localhost',
      ACME_DNS_PORT: '65536',
      ACME_DNS_HOST: 'localhost',
      MAX_CONNECTIONS: '0',
      MAX_CONNECTIONS_PER_ADDRESS: '-1',
      TRUST_PROXY: '10.0.0.1, 10.0.0.0/33',
      MAX_EVENT_LOOP_DELAY: '1e9ms',
      MAX_RSS_BYTES: '1GiB',
      SHUTDOWN_DELAY: '5',
      SHUTDOWN_TIMEOUT: '0s',
    };
    const named = problems(wrong).map((line) => /^[A-Z_]+/.exec(line)?.[0]);
    expect(named).toEqual(Object.keys(wrong));
  });

  test.each(['broker.internal:8080', '*', '*.svc', 'a b'])('EVENT_HTTP_HOSTS cannot be %s', (value) => {
    expect(problems({ EVENT_HTTP_HOSTS: value })).toEqual([expect.stringContaining('EVENT_HTTP_HOSTS')]);
  });

  const MOST = Number.MAX_SAFE_INTEGER;
  test.each([
    ['PORT', 0, 65_535],
    ['METRICS_PORT', 0, 65_535],
    ['DATABASE_POOL_SIZE', 1, 1000],
    ['BODY_LIMIT', 1024, 64 * 1024 * 1024],
    ['MAX_BYTES_IN_FLIGHT_PER_KEY', 0, MOST],
    ['MAX_BYTES_IN_FLIGHT_PER_OWNER', 0, MOST],
    ['MAX_BYTES_IN_FLIGHT', 0, MOST],
    ['RATE_LIMIT', 0, 1_000_000],
    ['RATE_LIMIT_PER_OWNER', 0, 1_000_000],
    ['RATE_LIMIT_UNAUTHENTICATED', 0, 1_000_000],
    ['MAX_CONNECTIONS', 1, 1_000_000],
    ['MAX_CONNECTIONS_PER_ADDRESS', 0, 1_000_000],
    ['MAX_RSS_BYTES', 0, MOST],
  ])('that are numbers have limits: %s is from %d to %d', (name, least, most) => {
    for (const fine of [least, most]) expect(problems({ [name]: String(fine) })).toEqual([]);
    for (const wrong of [least - 1, most + 1]) expect(problems({ [name]: String(wrong) })).toHaveLength(1);
  });

  test.each(['dataDir', 'host'])('must not be empty when given as a flag: %s', (name) => {
    expect(() => readSettings(apiSettings, { [name]: '' }, {})).toThrow(/ is "", but must not be empty$/);
  });

  test('each have their own variable and description, and most have a flag', () => {
    for (const member of ['env', 'description'] as const) {
      expect(new Set(settings.map((setting) => setting[member])).size).toBe(settings.length);
    }
    const flags = settings.flatMap(({ flag }) => flag ?? []);
    expect(new Set(flags).size).toBe(flags.length);
    const onlyFromTheEnvironment = settings.filter(({ flag }) => flag === undefined).map(({ env }) => env);
    expect(onlyFromTheEnvironment).toEqual([
      'BOOTSTRAP_API_KEY',
      'OPERATOR_API_KEY',
      'ENCRYPTION_KEY',
      'ACME_EXTERNAL_HMAC_KEY',
      'ACME_TRUSTED_CERTIFICATES',
    ]);
  });

  test('that are secret are marked', () => {
    const secret = settings.filter((setting) => setting.secret).map(({ env }) => env);
    expect(secret).toEqual([
      'DATABASE_URL',
      'BOOTSTRAP_API_KEY',
      'OPERATOR_API_KEY',
      'ENCRYPTION_KEY',
      'ACME_EXTERNAL_HMAC_KEY',
    ]);
  });
});

/** The lines of the error that reading throws; none if it succeeds. */
function problems(environment: Record<string, string>): string[] {
  try {
    read(environment);
  } catch (error) {
    if (error instanceof BadSettings) return error.message.split('\n');
    throw error;
  }
  return [];
}
