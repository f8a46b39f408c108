import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpMethod, type KubeConfig, RequestContext } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { loadKubeConfig, TokenFileConfig } from '../../../src/operator/kube/kube-config.ts';

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-kubeconfig-'));
afterAll(() => rm(folder, { recursive: true }));

/** A kubeconfig in the folder whose one user has these members. */
async function configOf(user: object, cluster: object = {}): Promise<KubeConfig> {
  const file = join(folder, 'kubeconfig');
  const text = stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
  await writeFile(file, text);
  return loadKubeConfig(file);
}

async function authorizationOf(config: KubeConfig): Promise<string | undefined> {
  const context = new RequestContext('https://127.0.0.1:1', HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  return context.getHeaders().Authorization;
}

describe('a kubeconfig', () => {
  test.each([
    ['its token', { token: 'one' }, 'Bearer one'],
    ['its name and password', { username: 'a', password: 'b' }, 'Basic YTpi'],
    ['nothing, if it has none', {}, undefined],
  ])('without a token file authenticates with %s', async (_, user, expected) => {
    expect(await authorizationOf(await configOf(user))).toBe(expected);
  });

  test('names its other files relative to itself, too', async () => {
    const user = { 'client-certificate': 'client.crt', 'client-key': '/keys/client.key' };
    const config = await configOf(user, { 'certificate-authority': 'ca.crt' });
    expect(config.getCurrentCluster()).toMatchObject({ caFile: join(folder, 'ca.crt') });
    const absolute = { certFile: join(folder, 'client.crt'), keyFile: '/keys/client.key' };
    expect(config.getCurrentUser()).toMatchObject(absolute);
  });

  test('may have a provider of credentials that takes a path as well, which stays as it is', async () => {
    const provider = { name: 'other', config: { path: 'any' } };
    const config = await configOf({ 'auth-provider': provider });
    expect(config.getCurrentUser()).toMatchObject({ authProvider: provider });
  });
});

describe('the service account of a Pod', () => {
  beforeEach(() => {
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '127.0.0.1');
    vi.stubEnv('KUBERNETES_SERVICE_PORT', '1');
  });
  afterEach(() => void vi.unstubAllEnvs());

  test('authenticates with the token that is in its file now', async () => {
    const account = join(folder, 'var/run/secrets/kubernetes.io/serviceaccount');
    await mkdir(account, { recursive: true });
    await writeFile(join(account, 'ca.crt'), '');
    const config = new TokenFileConfig();
    config.loadFromCluster(folder);
    for (const token of ['one', 'two']) {
      await writeFile(join(account, 'token'), token);
      expect(await authorizationOf(config)).toBe(`Bearer ${token}`);
    }
  });
});
