/**
 * npm run e2e:kind [-- arguments of vitest]
 *
 * Builds the image, makes a kind cluster, installs the chart there, runs the tests that need nodes, and then the
 * end-to-end tests: once with the programs in the process of the tests, and once in Pods of the chart. Needs docker and
 * kind. With `TEST_KUBECONFIG`, uses that cluster instead, into which the image `TEST_IMAGE` must have been loaded; docker
 * and kind are not needed then. There, `TEST_PEBBLE_IMAGE` and `TEST_UNBOUND_IMAGE` name the images of a certificate
 * authority; without them, the tests that need one are skipped.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BinaryUnavailable, ensureBinaries } from '../dev/control-plane/binaries.ts';

const ROOT = join(import.meta.dirname, '..');
const IMAGE = 'tunnel-operator:e2e';
const AUTHORITY = {
  TEST_PEBBLE_IMAGE: 'tunnel-operator-pebble:e2e',
  TEST_UNBOUND_IMAGE: 'tunnel-operator-unbound:e2e',
};
const CLUSTER = 'tunnel-operator-e2e';

class CommandFailed extends Error {}

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  process.stderr.write(`$ ${command} ${args.join(' ')}\n`);
  const options = { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } } as const;
  const { status, error } = spawnSync(command, args, options);
  if (error) throw new CommandFailed(`cannot run ${command}: ${error.message}`);
  if (status !== 0) throw new CommandFailed(`${command} failed`);
}

function test(files: readonly string[], env: NodeJS.ProcessEnv): void {
  run(process.execPath, [join(ROOT, 'scripts/test.ts'), ...files, ...process.argv.slice(2)], env);
}

/** Tests that start operators themselves, or tell them apart by names that Pods cannot have. */
const NOT_IN_PODS = ['missing-crd', 'shards', 'traces'].map((name) => `--exclude=test/e2e/${name}.all.test.ts`);

/** Runs the suites one after the other: an operator in a Pod would also reconcile the objects of the others. */
function runTests(env: NodeJS.ProcessEnv): void {
  const all = { ...env, TEST_ALL: '1' };
  const onNodes = ['node', 'node-certificates'].map((name) => `test/chart/${name}.all.test.ts`);
  // Not at once: one of them drains the nodes and deletes the definitions.
  test([...onNodes, '--no-file-parallelism'], all);
  test(['test/e2e'], all);
  test(['test/e2e', ...NOT_IN_PODS], { ...all, TEST_PODS: '1' });
}

/** Builds the images of the certificate authority. Without Pebble there are none, and the tests that need one are skipped. */
async function authorityImages(): Promise<Partial<typeof AUTHORITY>> {
  try {
    // On another system, the binary does not run in a container.
    if (process.platform !== 'linux') throw new CommandFailed('Pebble is not built for Linux on this machine');
    const { pebble } = await ensureBinaries(['pebble']);
    const file = (name: string) => ['--file', join(ROOT, `dev/acme/${name}.Dockerfile`)];
    run('docker', ['build', '--tag', AUTHORITY.TEST_PEBBLE_IMAGE, ...file('pebble'), dirname(pebble)]);
    run('docker', ['build', '--tag', AUTHORITY.TEST_UNBOUND_IMAGE, ...file('unbound'), join(ROOT, 'dev/acme')]);
    return AUTHORITY;
  } catch (error) {
    if (!(error instanceof CommandFailed || error instanceof BinaryUnavailable)) throw error;
    process.stderr.write(`No certificate authority in the cluster: ${error.message}\n`);
    return {};
  }
}

async function onKind(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tunnel-operator-kind-'));
  const kubeconfig = join(folder, 'kubeconfig');
  let isOurs = false;
  try {
    run('docker', ['build', '--tag', IMAGE, '.']);
    const authority = await authorityImages();
    run('kind', ['create', 'cluster', '--name', CLUSTER, '--kubeconfig', kubeconfig, '--wait', '3m']);
    // If the creation failed, a cluster of that name may belong to another run.
    isOurs = true;
    run('kind', ['load', 'docker-image', IMAGE, ...Object.values(authority), '--name', CLUSTER]);
    runTests({ ...authority, TEST_KUBECONFIG: kubeconfig, TEST_IMAGE: IMAGE, TEST_CLUSTER: 'exclusive' });
  } finally {
    const remove = ['delete', 'cluster', '--name', CLUSTER, '--kubeconfig', kubeconfig];
    if (isOurs) spawnSync('kind', remove, { stdio: 'inherit' });
    rmSync(folder, { recursive: true, force: true });
  }
}

try {
  const { TEST_KUBECONFIG, TEST_IMAGE } = process.env;
  if (TEST_KUBECONFIG && !TEST_IMAGE) throw new CommandFailed('TEST_KUBECONFIG is set, but TEST_IMAGE is not');
  if (TEST_KUBECONFIG) runTests({});
  else await onKind();
} catch (error) {
  if (!(error instanceof CommandFailed)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
