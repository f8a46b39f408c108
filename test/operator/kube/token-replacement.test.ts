/** Tokens that are replaced while they are in use. A token here is bound to a Secret: without it, it is refused. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { KubeApi, type ResourceType } from '../../../src/operator/kube/kube-api.ts';
import { loadKubeConfig, TokenFileConfig } from '../../../src/operator/kube/kube-config.ts';
import { KubeError } from '../../../src/operator/kube/kube-error.ts';
import { createNamespace, kubeconfig, kubectl } from '../../harness.ts';

const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };
const POLICIES: ResourceType = { group: 'networking.k8s.io', version: 'v1', plural: 'networkpolicies' };

const namespace = await createNamespace('tokens');
const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-tokens-'));
const apis: KubeApi[] = [];
afterAll(async () => {
  await Promise.all(apis.map((api) => api.close()));
  await rm(folder, { recursive: true });
});

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await kubectl(['-n', namespace, ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trim();
}

await run('create', 'serviceaccount', 'reader');
await run('create', 'rolebinding', 'reader', '--clusterrole=view', `--serviceaccount=${namespace}:reader`);

/** A token that is refused as soon as `revoke` was noticed. */
async function issue(name: string) {
  await run('create', 'secret', 'generic', name);
  const token = await run('create', 'token', 'reader', '--bound-object-kind=Secret', `--bound-object-name=${name}`);
  return { token, revoke: () => run('delete', 'secret', name) };
}

function connect(config: KubeConfig): KubeApi {
  const api = new KubeApi(config, { userAgent: 'tests', timeoutMs: 20_000 });
  apis.push(api);
  return api;
}

const cluster = (await kubeconfig()).getCurrentCluster();
if (!cluster) throw new Error('the kubeconfig of the tests has no cluster');
const server = cluster.server;

/** A kubeconfig in the folder whose one user has these members. */
async function kubeconfigFile(name: string, user: object): Promise<string> {
  const file = join(folder, `${name}.kubeconfig`);
  const authority = { server, 'certificate-authority-data': cluster?.caData };
  await writeFile(
    file,
    stringify({
      clusters: [{ name: 'c', cluster: authority }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    }),
  );
  return file;
}

/** The tests run at once: each has a file of its own. */
const withToken = async (name: string, token: string) =>
  connect(loadKubeConfig(await kubeconfigFile(`fixed-${name}`, { token })));

/** A way to hand a token to the client, which may be replaced. */
type Source = readonly [what: string, put: (token: string) => Promise<unknown>, load: () => Promise<KubeConfig>];

const absolutePath = join(folder, 'other-token');
const credentialPath = join(folder, 'credential.json');
const podFolder = join(folder, 'pod');
const podFile = (name: string) => join(podFolder, 'var/run/secrets/kubernetes.io/serviceaccount', name);

const sources: readonly Source[] = [
  [
    'a token file',
    // As people write files: with a line break at the end.
    (token) => writeFile(join(folder, 'token'), `${token}\n`),
    async () => loadKubeConfig(await kubeconfigFile('file', { tokenFile: 'token' })),
  ],
  [
    'a token file beside a token',
    (token) => writeFile(absolutePath, token),
    async () => loadKubeConfig(await kubeconfigFile('both', { tokenFile: absolutePath, token: 'old' })),
  ],
  [
    'a credential program',
    (token) => {
      const status = { token };
      return writeFile(
        credentialPath,
        JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status }),
      );
    },
    async () => {
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'cat', args: [credentialPath] };
      return loadKubeConfig(await kubeconfigFile('exec', { exec }));
    },
  ],
  [
    'the service account of a Pod',
    async (token) => {
      await mkdir(dirname(podFile('token')), { recursive: true });
      await writeFile(podFile('ca.crt'), Buffer.from(cluster.caData ?? '', 'base64'));
      await writeFile(podFile('token'), token);
    },
    async () => {
      const { hostname, port } = new URL(server);
      vi.stubEnv('KUBERNETES_SERVICE_HOST', hostname);
      vi.stubEnv('KUBERNETES_SERVICE_PORT', port);
      const config = new TokenFileConfig();
      config.loadFromCluster(podFolder);
      vi.unstubAllEnvs();
      return config;
    },
  ],
];

describe('calls are made with the token, and with the next one as soon as that is refused', () => {
  test.concurrent.each(sources)(
    'of %s',
    async (what, put, load) => {
      const name = what.replaceAll(' ', '-').toLowerCase();
      const first = await issue(`${name}-1`);
      await put(first.token);
      const api = connect(await load());
      const list = () => api.list(POLICIES, { namespace });
      expect((await list()).items).toEqual([]);

      await put((await issue(`${name}-2`)).token);
      await first.revoke();
      const old = await withToken(name, first.token);
      // The server remembers what it has accepted for 10 s, and looks for the Secret in a store of its own. That lags for
      // up to 45 s when its watch has ended and is begun anew.
      await vi.waitFor(
        () => expect(old.list(POLICIES, { namespace })).rejects.toMatchObject({ name: 'KubeError', code: 401 }),
        { timeout: 120_000, interval: 200 },
      );
      expect((await list()).items).toEqual([]);
    },
    150_000,
  );
});

test('a token file that is empty or gone for a moment makes nobody anonymous', async () => {
  const { token } = await issue('moment');
  const path = join(folder, 'moment');
  const api = connect(loadKubeConfig(await kubeconfigFile('moment', { tokenFile: path })));
  await writeFile(path, '');
  await expect(api.list(SECRETS, { namespace })).rejects.toThrow(`the token file ${path} is empty`);
  await writeFile(path, token);
  // Known, but without this permission.
  const refused = await api.list(SECRETS, { namespace }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(KubeError);
  expect(refused).toMatchObject({ code: 403, message: expect.stringContaining(`${namespace}:reader`) });
});

test('closing ends watches in progress with an error that can be handled', async () => {
  const config = await kubeconfig();
  for (let round = 0; round < 3; round++) {
    const api = connect(config);
    const { signal } = new AbortController();
    const ends = [SECRETS, POLICIES, SECRETS].map(async (type) => {
      const { resourceVersion } = await api.list(type, { namespace });
      const watch = api.watch(type, { namespace, resourceVersion, timeoutSeconds: 60, signal });
      await Array.fromAsync(watch);
    });
    const ended = Promise.allSettled(ends);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await api.close();
    for (const end of await ended) {
      expect(end).toMatchObject({ status: 'rejected', reason: { name: 'KubeUnreachableError' } });
    }
  }
});
