/** Builds binaries from Go modules with pinned versions and checksums, if published ones cannot be fetched. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { BinaryName } from './binary-name.ts';
import { otherKubernetes } from './other-kubernetes.ts';
import { HELM_VERSION, KUBERNETES_VERSION, PEBBLE_VERSION, PINNED_KUBERNETES, PROMETHEUS_VERSION } from './versions.ts';

const [MAJOR, MINOR] = KUBERNETES_VERSION.split('.');
const KUBERNETES_VARIABLES = { gitVersion: `v${KUBERNETES_VERSION}`, gitMajor: MAJOR, gitMinor: MINOR };

interface Recipe {
  readonly package: string;
  /** The folder next to this file whose go.mod to build with. Without it, the package is installed by version. */
  readonly module?: 'kubernetes' | 'etcd' | 'kstatus' | 'lua';
  /** Linker variables, which set what `--version` prints. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Build tags. */
  readonly tags?: string;
}

const KUBERNETES_LINKED = Object.fromEntries(
  Object.entries(KUBERNETES_VARIABLES).map(([name, value]) => [`k8s.io/component-base/version.${name}`, String(value)]),
);

const RECIPES: Readonly<Record<BinaryName, Recipe>> = {
  etcd: { module: 'etcd', package: 'go.etcd.io/etcd/server/v3' },
  'kube-apiserver': kubernetes('kube-apiserver'),
  'kube-controller-manager': kubernetes('kube-controller-manager'),
  kubectl: kubernetes('kubectl'),
  helm: helm(),
  promtool: promtool(),
  kstatus: { module: 'kstatus', package: '.' },
  lua: { module: 'lua', package: '.' },
  pebble: { package: `github.com/letsencrypt/pebble/v2/cmd/pebble@v${PEBBLE_VERSION}` },
};

function helm(): Recipe {
  const module = `helm.sh/helm/v${HELM_VERSION.split('.', 1)[0]}`;
  return {
    package: `${module}/cmd/helm@v${HELM_VERSION}`,
    variables: {
      [`${module}/internal/version.version`]: `v${HELM_VERSION}`,
      // What `helm template` renders for. Helm 4 finds it out by itself.
      [`${module}/pkg/chartutil.k8sVersionMajor`]: String(MAJOR),
      [`${module}/pkg/chartutil.k8sVersionMinor`]: String(MINOR),
    },
  };
}

function promtool(): Recipe {
  const [major = '', minor = '', patch = ''] = PROMETHEUS_VERSION.split('.');
  return {
    // Its Go module has not reached 1.0: release 3.16.0 is module version 0.316.0.
    package: `github.com/prometheus/prometheus/cmd/promtool@v0.${major}${minor.padStart(2, '0')}.${patch}`,
    variables: { 'github.com/prometheus/common/version.Version': PROMETHEUS_VERSION },
    // Leaves out the clients of all clouds, which are most of the code to compile.
    tags: 'remove_all_sd',
  };
}

function kubernetes(command: string): Recipe {
  return { module: 'kubernetes', package: `k8s.io/kubernetes/cmd/${command}`, variables: KUBERNETES_LINKED };
}

/** Go ran and failed; the message ends with its output. */
export class BuildFailed extends Error {
  override readonly name = 'BuildFailed';
}

/** Whether there is a `go` on the path. */
export async function hasGo(): Promise<boolean> {
  return promisify(execFile)('go', ['version']).then(
    () => true,
    () => false,
  );
}

/** Groups the names by runs of `go build`; packages of one module share most of the work. */
export function buildGroups(names: readonly BinaryName[]): BinaryName[][] {
  const groups = new Map<string, BinaryName[]>();
  for (const name of names) {
    const key = RECIPES[name].module ?? name;
    groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  return [...groups.values()];
}

/**
 * Builds one group of `buildGroups` into `directory`; each binary appears there complete or not at all.
 * @param onPackage called with the number of packages compiled so far, not counting those in Go's own cache
 * @throws BuildFailed
 */
export async function goBuild(
  names: readonly BinaryName[],
  directory: string,
  onPackage: (compiled: number) => void,
): Promise<void> {
  const recipes = names.map((name) => RECIPES[name]);
  const [first] = recipes;
  if (first === undefined) return;
  const temporary = await mkdtemp(join(directory, '.build-'));
  try {
    const linked = Object.entries(first.variables ?? {}).map(([variable, value]) => `-X ${variable}=${value}`);
    const tags = first.tags === undefined ? [] : ['-tags', first.tags];
    const flags = ['-v', '-trimpath', ...tags, '-ldflags', ['-s -w', ...linked].join(' ')];
    const packages = recipes.map((recipe) => recipe.package);
    if (first.module === undefined) await go(['install', ...flags, ...packages], { GOBIN: temporary }, onPackage);
    else {
      const output = names.length === 1 ? join(temporary, String(names[0])) : `${temporary}/`;
      const at = await moduleArgs(first.module, directory);
      await go(['build', ...at, ...flags, '-o', output, ...packages], {}, onPackage);
    }
    for (const name of names) {
      await chmod(join(temporary, name), 0o755);
      await rename(join(temporary, name), join(directory, name));
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function moduleArgs(module: NonNullable<Recipe['module']>, directory: string): Promise<string[]> {
  if (module !== 'kubernetes' || KUBERNETES_VERSION === PINNED_KUBERNETES)
    return ['-C', join(import.meta.dirname, module)];
  return ['-C', await otherKubernetes(KUBERNETES_VERSION, directory), '-mod=mod'];
}

async function go(args: string[], env: NodeJS.ProcessEnv, onPackage: (compiled: number) => void): Promise<void> {
  // The user's GOFLAGS may set -mod or tags; GOWORK may point to another workspace.
  const closed = { CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false', GOWORK: 'off', ...env };
  const child = spawn('go', args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...closed } });
  // Listen from the start: the process may exit before its last lines have been read.
  const ended = once(child, 'exit');
  const said: string[] = [];
  let compiled = 0;
  for await (const line of createInterface({ input: child.stderr })) {
    // With -v, a line with nothing but a path is a compiled package; anything else is a message.
    if (/^[\w.~-]+(\/[\w.~-]+)*$/.test(line)) onPackage(++compiled);
    else if (!line.startsWith('go: downloading ')) said.push(line);
  }
  const [code, signal] = await ended;
  if (code !== 0)
    throw new BuildFailed(`go ${args[0]} failed (${signal ?? `code ${code}`}):\n${said.slice(-20).join('\n')}`);
}
