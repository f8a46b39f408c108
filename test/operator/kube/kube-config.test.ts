import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpMethod, type KubeConfig, RequestContext } from '@kubernetes/client-node';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { loadKubeConfig, OwnKubeConfig } from '../../../src/operator/kube/kube-config.ts';
import { configOf, SERVER } from './kubeconfigs.ts';

const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-kubeconfig-'));
afterAll(() => rm(folder, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

async function authorizationOf(config: KubeConfig): Promise<string | undefined> {
  const context = new RequestContext(SERVER, HttpMethod.GET);
  await config.applySecurityAuthentication(context);
  return context.getHeaders().Authorization;
}

describe('a kubeconfig', () => {
  test.each([
    ['its token', { token: 'one' }, 'Bearer one'],
    ['its name and password', { username: 'a', password: 'b' }, 'Basic YTpi'],
    ['nothing, if it has no credentials', {}, undefined],
    ['the token from its file, if it has both', { tokenFile: 'token', token: 'old' }, 'Bearer new'],
  ])('authenticates with %s', async (_, user, expected) => {
    // With a line break at the end, as editors write files.
    await writeFile(join(folder, 'token'), 'new\n');
    for (const server of [SERVER, 'http://127.0.0.1:1'])
      expect(await authorizationOf(await configOf(folder, user, { server }))).toBe(expected);
  });
});

test('the service account of a Pod authenticates with the current token in its file', async () => {
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '127.0.0.1');
  vi.stubEnv('KUBERNETES_SERVICE_PORT', '1');
  const account = join(folder, 'var/run/secrets/kubernetes.io/serviceaccount');
  await mkdir(account, { recursive: true });
  await writeFile(join(account, 'ca.crt'), '');
  const config = new OwnKubeConfig();
  config.loadFromCluster(folder);
  for (const token of ['one', 'two']) {
    await writeFile(join(account, 'token'), token);
    expect(await authorizationOf(config)).toBe(`Bearer ${token}`);
  }
});

test('several kubeconfigs are merged only if KUBECONFIG names them', async () => {
  const part = async (name: string, content: object) => {
    const file = join(folder, name);
    await writeFile(file, stringify(content));
    return file;
  };
  const clusters = await part('clusters', { clusters: [{ name: 'c', cluster: { server: SERVER } }] });
  const users = await part('users', {
    users: [{ name: 'u', user: { tokenFile: 'token' } }, { name: 'anonymous' }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
  vi.stubEnv('KUBECONFIG', `${clusters}::${users}`);
  const merged = loadKubeConfig(process.env.KUBECONFIG);
  expect([merged.getCurrentCluster()?.server, merged.getCurrentUser()?.authProvider?.config]).toEqual([
    SERVER,
    { path: join(folder, 'token') },
  ]);
  expect(() => loadKubeConfig(`${clusters}:${users}:`)).toThrow('ENOENT');
  expect(loadKubeConfig(undefined).getCurrentCluster()?.server).toBe(SERVER);
});
