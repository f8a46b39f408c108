/** Finds, fetches or builds the binaries that the tests need. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir, readdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { withLock } from '../../src/postgres/lock.ts';
import type { BinaryName } from './binary-name.ts';
import { DownloadFailed } from './download.ts';
import { BuildFailed, buildGroups, goBuild, hasGo } from './go-build.ts';
import { currentPlatform, type Platform } from './platform.ts';
import { type Progress, trackProgress } from './progress.ts';
import { fetchPublished, publication, SOURCES, type Sources } from './published.ts';
import {
  HELM_VERSION,
  KSTATUS_VERSION,
  KUBERNETES_VERSION,
  LUA_VERSION,
  PEBBLE_VERSION,
  PROMETHEUS_VERSION,
} from './versions.ts';

/** A binary could not be obtained in any way. The message says which one, what was tried, and what would help. */
export class BinaryUnavailable extends Error {
  override readonly name = 'BinaryUnavailable';
  readonly binary: BinaryName;
  constructor(binary: BinaryName, tried: readonly string[]) {
    super(
      `${binary} is not available: ${tried.join('; ')}. ` +
        `Install Go (the version in dev/control-plane/kubernetes/go.mod or newer), or put the binary into a folder and set KUBEBUILDER_ASSETS to it.`,
    );
    this.binary = binary;
  }
}

interface EnsureOptions {
  readonly onProgress?: (progress: Progress) => void;
  /** Default: the public ones. */
  readonly sources?: Sources;
}

/**
 * Returns the paths of the named binaries. Looks in `KUBEBUILDER_ASSETS`, then in a cache outside the checkout
 * (`TUNNEL_OPERATOR_CACHE`, by default `~/.cache/tunnel-operator`), for kubectl also on the PATH; otherwise fetches
 * them into that cache, or builds them. Several processes may ask at the same time: one works, the others wait.
 * @throws BinaryUnavailable for the first that cannot be obtained; ChecksumMismatch if a download differs from what was
 *   published, in which case nothing else is tried.
 */
export async function ensureBinaries<Name extends BinaryName>(
  names: readonly Name[],
  options: EnsureOptions = {},
): Promise<Record<Name, string>> {
  const platform = currentPlatform();
  const paths: Partial<Record<Name, string>> = {};
  const missing = new Map<string, Name[]>();
  for (const name of names) {
    const found = await find(name, platform);
    if (found === undefined) {
      const directory = cacheDirectory(name, platform);
      missing.set(directory, [...(missing.get(directory) ?? []), name]);
    } else paths[name] = found;
  }
  for (const [directory, absent] of missing) {
    await obtain(absent, directory, platform, options);
    for (const name of absent) paths[name] = join(directory, name);
  }
  return requireAll(paths, names);
}

/** The path of an existing binary; undefined if it has to be fetched or built. */
async function find(name: BinaryName, platform: Platform): Promise<string | undefined> {
  const assets = process.env.KUBEBUILDER_ASSETS;
  const folders = [...(assets ? [resolve(assets)] : []), cacheDirectory(name, platform)];
  for (const folder of folders) {
    if (await isExecutable(join(folder, name))) return join(folder, name);
  }
  return name === 'kubectl' ? kubectlOnPath() : undefined;
}

/** kubectl supports servers one minor version apart; for what the tests do, many more work. */
async function kubectlOnPath(): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'kubectl');
    if (folder === '' || !(await isExecutable(path))) continue;
    const works = promisify(execFile)(path, ['version', '--client', '--output=json']);
    const minor = await works.then(({ stdout }) => /"minor":\s*"(\d+)/.exec(stdout)?.[1]).catch(() => undefined);
    if (minor !== undefined && Number(minor) >= 28) return path;
  }
  return undefined;
}

/** The folder outside the checkout that keeps everything fetched or built. */
export function cacheRoot(): string {
  const own = process.env.TUNNEL_OPERATOR_CACHE;
  // Absolute: the programs run in folders of their own.
  return resolve(own || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tunnel-operator'));
}

function cacheDirectory(name: BinaryName, { os, arch }: Platform): string {
  const versions: Partial<Record<BinaryName, string>> = {
    helm: `helm-${HELM_VERSION}`,
    promtool: `prometheus-${PROMETHEUS_VERSION}`,
    kstatus: `kstatus-${KSTATUS_VERSION}`,
    lua: `lua-${LUA_VERSION}`,
    pebble: `pebble-${PEBBLE_VERSION}`,
  };
  return join(cacheRoot(), versions[name] ?? KUBERNETES_VERSION, `${os}-${arch}`);
}

async function obtain(
  names: readonly BinaryName[],
  directory: string,
  platform: Platform,
  options: EnsureOptions,
): Promise<void> {
  const report = options.onProgress ?? (() => {});
  await mkdir(directory, { recursive: true }).catch((error: Error) => {
    const why = `its folder cannot be made (${error.message}; TUNNEL_OPERATOR_CACHE names another)`;
    throw new BinaryUnavailable(names[0] as BinaryName, [why]);
  });
  let waiting: ReturnType<typeof trackProgress> | undefined;
  const onWait = (pid: number) => {
    waiting ??= trackProgress(report, 'wait', names, `process ${pid} is working on it`);
  };
  try {
    await withLock(
      join(directory, '.lock'),
      async () => {
        waiting?.done();
        await removeLeftovers(directory);
        const absent: BinaryName[] = [];
        for (const name of names) if (!(await isExecutable(join(directory, name)))) absent.push(name);
        const notFetched = await download(absent, directory, platform, options.sources ?? SOURCES, report);
        await build([...notFetched.keys()], directory, notFetched, report);
      },
      { onWait },
    );
  } finally {
    waiting?.done();
  }
}

/** The binaries that could not be fetched, each with the reason. */
async function download(
  names: readonly BinaryName[],
  directory: string,
  platform: Platform,
  sources: Sources,
  report: (progress: Progress) => void,
): Promise<Map<BinaryName, string>> {
  const failed = new Map<BinaryName, string>();
  const groups = Map.groupBy(names, (name) => publication(name, platform));
  for (const [from, together] of groups) {
    if (from === undefined) {
      for (const name of together) failed.set(name, `not published for ${platform.os} ${platform.arch}`);
      continue;
    }
    const progress = trackProgress(report, 'download', together);
    const onBytes = (received: number, total: number | undefined) =>
      progress.update(`${megabytes(received)}${total === undefined ? '' : ` of ${megabytes(total)}`} MB`);
    try {
      await fetchPublished(from, together, { platform, directory, sources, onBytes });
    } catch (error) {
      if (!(error instanceof DownloadFailed)) throw error;
      for (const name of together) failed.set(name, `not downloaded (${error.message})`);
    } finally {
      progress.done();
    }
  }
  return failed;
}

async function build(
  names: readonly BinaryName[],
  directory: string,
  reasons: ReadonlyMap<BinaryName, string>,
  report: (progress: Progress) => void,
): Promise<void> {
  const [first] = names;
  if (first === undefined) return;
  if (!(await hasGo()))
    throw new BinaryUnavailable(first, [reasons.get(first) ?? '', 'Go is not installed, so it cannot be built']);
  for (const group of buildGroups(names)) {
    const progress = trackProgress(report, 'build', group, 'from Go modules');
    try {
      await goBuild(group, directory, (count) => progress.update(`from Go modules, ${count} packages compiled`));
    } catch (error) {
      if (!(error instanceof BuildFailed)) throw error;
      throw new BinaryUnavailable(group[0] ?? first, [reasons.get(group[0] ?? first) ?? '', error.message]);
    } finally {
      progress.done();
    }
  }
}

/** Removes what a killed process left half finished; only the holder of the lock may do this. */
async function removeLeftovers(directory: string): Promise<void> {
  const leftovers = (await readdir(directory)).filter((entry) => /^\.(fetch|build)-/.test(entry));
  await Promise.all(leftovers.map((entry) => rm(join(directory, entry), { recursive: true, force: true })));
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function requireAll<Name extends BinaryName>(
  paths: Partial<Record<Name, string>>,
  names: readonly Name[],
): Record<Name, string> {
  const entries = names.map((name) => [name, paths[name]] as const);
  for (const [name, path] of entries) if (path === undefined) throw new BinaryUnavailable(name, ['not found']);
  return Object.fromEntries(entries) as Record<Name, string>;
}
