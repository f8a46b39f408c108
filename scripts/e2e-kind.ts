/**
 * npm run e2e:kind [-- arguments of vitest]
 *
 * Builds the image, makes a kind cluster, installs the chart there, runs the tests that need nodes, and then the
 * end-to-end tests: once with the programs in the process of the tests, and once in Pods of the chart. Needs docker and
 * kind. With `TEST_KUBECONFIG`, uses that cluster instead, into which the image `TEST_IMAGE` must have been loaded; docker
 * and kind are not needed then.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const IMAGE = 'tunnel-operator:e2e';
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
  test(['test/chart/node.all.test.ts'], all);
  test(['test/e2e'], all);
  test(['test/e2e', ...NOT_IN_PODS], { ...all, TEST_PODS: '1' });
}

function onKind(): void {
  const folder = mkdtempSync(join(tmpdir(), 'tunnel-operator-kind-'));
  const kubeconfig = join(folder, 'kubeconfig');
  let isOurs = false;
  try {
    run('docker', ['build', '--tag', IMAGE, '.']);
    run('kind', ['create', 'cluster', '--name', CLUSTER, '--kubeconfig', kubeconfig, '--wait', '3m']);
    // If the creation failed, a cluster of that name may belong to another run.
    isOurs = true;
    run('kind', ['load', 'docker-image', IMAGE, '--name', CLUSTER]);
    runTests({ TEST_KUBECONFIG: kubeconfig, TEST_IMAGE: IMAGE, TEST_CLUSTER: 'exclusive' });
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
  else onKind();
} catch (error) {
  if (!(error instanceof CommandFailed)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
