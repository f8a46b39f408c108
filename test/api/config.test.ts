import { describe, expect, test } from 'vitest';
import { apiConfig, apiSettings } from '../../src/api/config.ts';

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
    });
  });

  test('are read from text, as the environment and flags give it', () => {
    const { port, poolSize } = apiConfig.parse({ port: '0', poolSize: '7' });
    expect([port, poolSize]).toEqual([0, 7]);
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
