/** A fresh copy of this checkout: the first command installs everything, and the demo runs. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { startControlPlane } from '../dev/control-plane/control-plane.ts';
import { customResources } from '../src/operator/crds/custom-resources.ts';
import { eventually } from './e2e/stack.ts';
import { kubectlOn } from './kubectl.ts';
import { NOT_OUR_CLUSTER, skipFor } from './skip.ts';

const ROOT = join(import.meta.dirname, '..');
const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-fresh-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

const checkout = join(folder, 'tunnel-operator');
const leftOut = ['node_modules', '.git', '.data', 'dist'].map((name) => join(ROOT, name));
await cp(ROOT, checkout, { recursive: true, filter: (path) => !leftOut.includes(path) });
const run = promisify(execFile);
const git = (...args: string[]) =>
  run('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: checkout });
await git('init', '--quiet');
await git('add', '--all');
await git('commit', '--quiet', '--message', 'a copy');
const { PATH, HOME } = process.env;
/** Without the variables that Vitest sets, such as BASE_URL. @throws Error unless it exits with 0 */
const npm = (...args: string[]) => run('npm', args, { cwd: checkout, env: { PATH, HOME } });
const demo = (...args: string[]) => npm('run', 'demo', '--', ...args);

test('npm start installs what it needs, without a warning', async () => {
  const { stdout, stderr } = await run('npm', ['start', '--', 'operator', '--help'], { cwd: checkout });
  expect(stderr).toContain('dependencies installed in');
  expect(stderr).not.toContain('EBADENGINE');
  expect(stdout).toContain('TUNNEL_API_URL');
});

test('the demo exits by itself with --once', async () => {
  const { stdout } = await demo('--once');
  expect(stdout).toContain('authenticates as cr_');
  expect(stdout).not.toContain('It keeps running');
});

test('the demo uses the cluster of --kubeconfig, and leaves only the CustomResourceDefinitions behind', {
  ...skipFor(NOT_OUR_CLUSTER),
}, async ({ onTestFinished }) => {
  const own = await startControlPlane();
  onTestFinished(() => own.stop());
  const names = async (kinds: string) => {
    const { code, stdout } = await kubectlOn(own, ['get', kinds, '-o', 'name']);
    expect(code).toBe(0);
    return stdout.split('\n').filter((name) => name.includes('tunnel'));
  };
  const { stdout } = await demo('--once', '--kubeconfig', own.kubeconfigPath);
  expect(stdout).toContain('authenticates as cr_');
  expect(await names('customresourcedefinitions')).toHaveLength(customResources.length);
  // The operator's Lease would be in the namespace "default", if it had no other.
  await eventually(async () => expect(await names('namespaces,leases,clusterroles')).toEqual([]));
});
