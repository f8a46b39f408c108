import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { kubeconfigProblem, namespacesProblem, operatorSettings } from '../../src/operator/settings.ts';
import { flagName, readSettings } from '../../src/settings/settings.ts';

const folder = await mkdtemp(join(tmpdir(), 'operator-settings-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

type Flag = keyof typeof operatorSettings & keyof typeof FLAGS;
const FLAGS = {
  concurrency: '--concurrency',
  apiConcurrency: '--api-concurrency',
  port: '--metrics-port',
  leaseNamespace: '--leader-election-namespace',
  identity: '--identity',
  host: '--metrics-host',
  shardSelector: '--shard-selector',
};

test.each<[Flag, string[], string[]]>([
  ['concurrency', ['1', '512'], ['0', '513']],
  ['apiConcurrency', ['1', '512'], ['0', '513']],
  ['port', ['0', '65535'], ['65536']],
  ['leaseNamespace', ['n', 'namespace'], ['']],
  ['identity', ['n', 'pod'], ['']],
  ['host', ['h', '::'], ['']],
  ['shardSelector', ['shard=a'], ['a=(']],
])('%s may be %j, but not %j', (name, accepted, refused) => {
  const read = (value: string) =>
    readSettings({ [name]: operatorSettings[name] }, { [flagName(FLAGS[name])]: value }, {});
  for (const value of accepted) expect(() => read(value)).not.toThrow();
  for (const value of refused) expect(() => read(value)).toThrow(`${FLAGS[name]} is`);
});

test('the error about a malformed API key does not quote the key', () => {
  const { apiKey } = operatorSettings;
  const read = () => readSettings({ apiKey }, {}, { TUNNEL_API_KEY: 'not one' });
  expect(read).toThrow('TUNNEL_API_KEY must be printable');
  expect(read).not.toThrow('not one');
});

const config = (server: string, context = 'c') => `
apiVersion: v1
kind: Config
current-context: ${context}
contexts: [{ name: c, context: { cluster: c, user: u } }]
clusters: [{ name: c, cluster: { server: '${server}' } }]
users: [{ name: u, user: { token: hidden } }]
`;

test.each<[string, string, RegExp | undefined]>([
  ['can be used', config('https://kube:6443'), undefined],
  [
    'names no cluster',
    config('https://kube:6443', 'other'),
    /^--kubeconfig or KUBECONFIG is ".+", which has no current context with a cluster$/,
  ],
  [
    'has a server that is not a URL',
    config('kube'),
    /^--kubeconfig or KUBECONFIG is ".+", which has a server that is not a URL: "kube"$/,
  ],
  ['is not YAML', 'users: [{ token: hidden', /^--kubeconfig or KUBECONFIG is ".+", which cannot be loaded: .+$/],
])('kubeconfigProblem checks a kubeconfig that %s', async (_, text, expected) => {
  const file = join(folder, 'config');
  await writeFile(file, text);
  const problem = await kubeconfigProblem(file);
  if (expected === undefined) expect(problem).toBeUndefined();
  else {
    expect(problem).toMatch(expected);
    expect(problem).not.toContain('hidden');
  }
});

test.each([
  [{ WATCH_NAMESPACE: 'a' }, undefined],
  [{ WATCH_NAMESPACE_SELECTOR: 'team=shop' }, undefined],
  [
    { WATCH_NAMESPACE: 'a', WATCH_NAMESPACE_SELECTOR: 'team=shop' },
    /^set --namespace .* or --namespace-selector .*, not both$/,
  ],
])('namespaces are given by name or by selector: %j', (env, expected) => {
  const all = { TUNNEL_API_URL: 'http://api', TUNNEL_API_KEY: 'key', ...env };
  const problem = namespacesProblem(readSettings(operatorSettings, {}, all));
  if (expected === undefined) expect(problem).toBeUndefined();
  else expect(problem).toMatch(expected);
});
