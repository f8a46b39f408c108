import { describe, expect, test } from 'vitest';
import { apiConfig, apiSettings } from '../../src/api/settings.ts';

describe('the settings of the API', () => {
  test('have defaults that start on a laptop', () => {
    const config = apiConfig.parse({});
    expect(config.databaseUrl).toBeUndefined();
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      logLevel: 'info',
      bodyLimit: 1024 * 1024,
      serviceDomains: 'tunnels.internal',
      acmeAuthority: 'letsencrypt',
      rateLimit: 1000,
      rateLimitUnauthenticated: 100,
      maxEventLoopDelayMs: 1000,
      maxRssBytes: 0,
      handlerTimeoutMs: 25_000,
    });
    expect(config.trustedProxies).toBeUndefined();
  });

  test('are read from text, as the environment and flags give it', () => {
    const { port, poolSize } = apiConfig.parse({ port: '0', poolSize: '7' });
    expect([port, poolSize]).toEqual([0, 7]);
    const { trustedProxies } = apiConfig.parse({ trustedProxies: '10.0.0.0/8, 2001:db8::1' });
    expect(trustedProxies).toEqual(['10.0.0.0/8', '2001:db8::1']);
  });

  test('that are wrong are all named', () => {
    const wrong = {
      databaseUrl: 'mysql://x',
      port: '99999',
      baseUrl: 'https://x.example/?a=1',
      bootstrapApiKey: 'short',
      encryptionKey: 'short',
      serviceDomains: 'example.com,*.example.org',
      acmeAuthority: 'Two Words',
      logLevel: 'loud',
      bodyLimit: 'many',
      handlerTimeoutMs: '-1',
      rateLimit: '-1',
      rateLimitUnauthenticated: 'few',
      trustedProxies: '10.0.0.0/33',
      maxEventLoopDelayMs: '1e9',
      maxRssBytes: '1GiB',
    };
    const issues = apiConfig.safeParse(wrong).error?.issues.map(({ path }) => path.join('.'));
    expect(issues).toEqual([
      'databaseUrl',
      'port',
      'baseUrl',
      'bootstrapApiKey',
      'encryptionKey',
      'serviceDomains',
      'acmeAuthority',
      'logLevel',
      'bodyLimit',
      'handlerTimeoutMs',
      'rateLimit',
      'rateLimitUnauthenticated',
      'trustedProxies',
      'maxEventLoopDelayMs',
      'maxRssBytes',
    ]);
  });

  test('each have a variable and a description of their own, and most a flag', () => {
    const settings = Object.values(apiSettings);
    for (const member of ['env', 'description'] as const) {
      expect(new Set(settings.map((setting) => setting[member])).size).toBe(settings.length);
    }
    const flags = settings.flatMap(({ flag }) => flag ?? []);
    expect(new Set(flags).size).toBe(flags.length);
    const onlyFromTheEnvironment = settings.filter(({ flag }) => flag === undefined).map(({ env }) => env);
    expect(onlyFromTheEnvironment).toEqual(['BOOTSTRAP_API_KEY', 'ENCRYPTION_KEY']);
    expect(Object.keys(apiSettings)).toEqual(Object.keys(apiConfig.shape));
  });

  test('that are secret are marked', () => {
    expect(
      Object.entries(apiSettings)
        .filter(([, { secret }]) => secret)
        .map(([name]) => name),
    ).toEqual(['databaseUrl', 'bootstrapApiKey', 'encryptionKey']);
  });
});
