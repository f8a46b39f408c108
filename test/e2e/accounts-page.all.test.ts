/** Runs the commands of docs/accounts.md as they stand there, in their order. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { atEnd } from '../end-of-file.ts';
import { cluster } from '../harness.ts';
import { skipFor } from '../skip.ts';
import { API_KEY, eventually, ROOT, startStack } from './stack.ts';

const run = promisify(execFile);
const missing = await run('sh', ['-c', 'command -v jq && curl --json x --version']).then(
  () => undefined,
  () => 'there is no jq, or no curl with --json, on this machine',
);
const IN_PODS = process.env.TEST_PODS ? 'not in Pods: their API has accounts of other tests' : undefined;

test('the commands of docs/accounts.md work in the order of the page', skipFor(missing ?? IN_PODS), async () => {
  const stack = await startStack({ prefix: 'fifty' });
  const { api, client, namespace } = stack;
  const page = await readFile(join(ROOT, 'docs/accounts.md'), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = '']) => text);
  expect(blocks).toHaveLength(6);
  const script = blocks
    .join('\n')
    .replaceAll(/(namespace:?) tunnel-operator\b/g, `$1 ${namespace}`)
    // Other test files share the cluster.
    .replaceAll('team-%g', `${namespace}-%g`);
  const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-accounts-'));
  atEnd(() => rm(folder, { recursive: true }));
  const { kubeconfigPath, kubectlPath } = await cluster();
  const env = { PATH: process.env.PATH, API: api.url, ADMIN_KEY: API_KEY, KUBECONFIG: kubeconfigPath };
  const kubectl = `kubectl() { '${kubectlPath}' "$@"; }`;
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', `${kubectl}\n${script}`], { cwd: folder, env });
  expect(stdout.match(/^account.* condition met$/gm)).toHaveLength(50);

  const files = (await readdir(folder)).filter((name) => name.endsWith('.key'));
  expect(files).toHaveLength(50);
  const [file = ''] = files;
  const apiKey = (await readFile(join(folder, file), 'utf8')).trim();
  const team = createClient({ baseUrl: api.url, apiKey });
  atEnd(() => team.close());
  expect(await team.ownAccount()).toMatchObject({ name: file.replace('.key', ''), quotas: { ip_policies: 100 } });
  // The last command deletes the last account.
  await eventually(async () => {
    const left = (await Array.fromAsync(client.accounts.list())).map(({ name }) => name);
    expect(left.filter((name) => name.startsWith(namespace))).toHaveLength(99);
  });
});
