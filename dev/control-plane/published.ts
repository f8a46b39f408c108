/**
 * Published binaries: etcd, kube-apiserver and kubectl in the archives that controller-tools makes for `envtest`,
 * kube-controller-manager (Linux only) with the Kubernetes release, helm and Prometheus with their own.
 *
 * Tested only against a loopback server with the same layout (`binaries.test.ts`): the real servers were unreachable where
 * this was written.
 */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import type { BinaryName } from './binary-name.ts';
import { type Checksum, DownloadFailed, fetchFile, fetchText } from './download.ts';
import type { Platform } from './platform.ts';
import { HELM_VERSION, KUBERNETES_VERSION, PROMETHEUS_VERSION } from './versions.ts';

/** Base URLs of the publications, without trailing slashes; tests replace them by their own server. */
export interface Sources {
  readonly envtestIndex: string;
  readonly kubernetes: string;
  readonly helm: string;
  readonly prometheus: string;
}

export const SOURCES: Sources = {
  envtestIndex: 'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml',
  kubernetes: 'https://dl.k8s.io',
  helm: 'https://get.helm.sh',
  prometheus: 'https://github.com/prometheus/prometheus/releases/download',
};

interface FetchOptions {
  readonly platform: Platform;
  /** The folder for the binaries; each appears complete or not at all. A temporary folder is created in it. */
  readonly directory: string;
  readonly sources: Sources;
  readonly onBytes?: (received: number, total: number | undefined) => void;
}

type Publication = 'envtest' | 'kubernetes' | 'helm' | 'prometheus';

/** The publication that contains a binary; undefined if it is not published for this platform. */
export function publication(name: BinaryName, { os }: Platform): Publication | undefined {
  if (name === 'etcd' || name === 'kube-apiserver' || name === 'kubectl') return 'envtest';
  if (name === 'kube-controller-manager') return os === 'linux' ? 'kubernetes' : undefined;
  if (name === 'promtool') return 'prometheus';
  return name === 'helm' ? 'helm' : undefined;
}

/**
 * Fetches the named binaries of one publication into `directory`.
 * @throws DownloadFailed, ChecksumMismatch
 */
export async function fetchPublished(
  from: Publication,
  names: readonly BinaryName[],
  options: FetchOptions,
): Promise<void> {
  const { platform, directory, sources } = options;
  const temporary = await mkdtemp(join(directory, '.fetch-'));
  try {
    if (from === 'kubernetes') {
      for (const name of names) {
        const url = `${sources.kubernetes}/v${KUBERNETES_VERSION}/bin/${platform.os}/${platform.arch}/${name}`;
        const checksum = parseChecksum('sha256', await fetchText(`${url}.sha256`));
        await fetchFile(url, join(temporary, name), checksum, options.onBytes);
      }
    } else {
      const archive = await ARCHIVES[from](options);
      await fetchFile(archive.url, join(temporary, 'archive.tar.gz'), archive.checksum, options.onBytes);
      await unpack(join(temporary, 'archive.tar.gz'), temporary, names);
    }
    for (const name of names) {
      await chmod(join(temporary, name), 0o755);
      await rename(join(temporary, name), join(directory, name));
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

interface Archive {
  readonly url: string;
  readonly checksum: Checksum;
}

const ARCHIVES = { envtest: findEnvtest, helm: findHelm, prometheus: findPrometheus };

const EnvtestIndex = z.object({
  releases: z.record(z.string(), z.record(z.string(), z.object({ hash: z.string(), selfLink: z.string() }))),
});

/** Not every patch release of Kubernetes has an archive: the newest of the minor version will do. */
async function findEnvtest({ platform, sources }: FetchOptions): Promise<Archive> {
  // Read all scalars as text: a checksum may look like a number. Text that is not YAML is not an index either.
  const index = parseDocument(await fetchText(sources.envtestIndex), { schema: 'failsafe' });
  const parsed = EnvtestIndex.safeParse(index.errors.length > 0 ? undefined : index.toJS());
  if (!parsed.success) throw new DownloadFailed(`${sources.envtestIndex}: is not the expected index`);
  const { releases } = parsed.data;
  const version = newestPatch(Object.keys(releases), KUBERNETES_VERSION);
  const entry = releases[`v${version}`]?.[`envtest-v${version}-${platform.os}-${platform.arch}.tar.gz`];
  if (entry === undefined) {
    const wanted = `Kubernetes ${minorOf(KUBERNETES_VERSION)} on ${platform.os} ${platform.arch}`;
    throw new DownloadFailed(`${sources.envtestIndex}: has no archive for ${wanted}`);
  }
  return { url: entry.selfLink, checksum: { algorithm: 'sha512', hex: entry.hash } };
}

async function findHelm({ platform, sources }: FetchOptions): Promise<Archive> {
  const url = `${sources.helm}/helm-v${HELM_VERSION}-${platform.os}-${platform.arch}.tar.gz`;
  return { url, checksum: parseChecksum('sha256', await fetchText(`${url}.sha256sum`)) };
}

/** One file has the checksums of all platforms. */
async function findPrometheus({ platform, sources }: FetchOptions): Promise<Archive> {
  const release = `${sources.prometheus}/v${PROMETHEUS_VERSION}`;
  const file = `prometheus-${PROMETHEUS_VERSION}.${platform.os}-${platform.arch}.tar.gz`;
  const sums = (await fetchText(`${release}/sha256sums.txt`)).split('\n');
  const sum = sums.find((line) => line.endsWith(` ${file}`)) ?? '';
  return { url: `${release}/${file}`, checksum: parseChecksum('sha256', sum) };
}

/** `wanted` itself if it is among `tags` (`v1.36.3` …), else the highest patch of its minor version, else undefined. */
export function newestPatch(tags: readonly string[], wanted: string): string | undefined {
  const versions = tags.map((tag) => tag.replace(/^v/, ''));
  if (versions.includes(wanted)) return wanted;
  const patches = versions
    .filter((version) => /^\d+\.\d+\.\d+$/.test(version) && minorOf(version) === minorOf(wanted))
    .map((version) => Number(version.split('.')[2]));
  return patches.length === 0 ? undefined : `${minorOf(wanted)}.${Math.max(...patches)}`;
}

function minorOf(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

/** The first word of a checksum file, which may be followed by a file name. */
function parseChecksum(algorithm: Checksum['algorithm'], text: string): Checksum {
  const hex = text.trim().split(/\s+/)[0] ?? '';
  const digits = algorithm === 'sha256' ? 64 : 128;
  if (hex.length !== digits || /[^0-9a-f]/i.test(hex))
    throw new DownloadFailed(`not a ${algorithm} checksum: ${hex.slice(0, 80)}`);
  return { algorithm, hex };
}

/** Unpacks an archive and moves the named files, from whichever folder in it, into `directory`. */
async function unpack(archive: string, directory: string, names: readonly string[]): Promise<void> {
  const into = join(directory, 'unpacked');
  await mkdir(into);
  await promisify(execFile)('tar', ['-xzf', archive, '-C', into]).catch((error: Error) => {
    throw new DownloadFailed(`cannot unpack ${archive}: ${error.message}`);
  });
  const files = (await readdir(into, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  for (const name of names) {
    const file = files.find((entry) => entry.name === name);
    if (file === undefined) throw new DownloadFailed(`${archive}: has no ${name}`);
    await rename(join(file.parentPath, name), join(directory, name));
  }
}
