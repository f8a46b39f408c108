import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BinaryUnavailable, ensureBinaries } from '../../../dev/control-plane/binaries.ts';
import { ChecksumMismatch, DownloadFailed } from '../../../dev/control-plane/download.ts';
import type { Progress } from '../../../dev/control-plane/progress.ts';
import { fetchPublished, newestPatch, type Sources } from '../../../dev/control-plane/published.ts';
import { KUBERNETES_VERSION, PROMETHEUS_VERSION } from '../../../dev/control-plane/versions.ts';
import { freePort } from '../../../src/postgres/ports.ts';

const platform = { os: 'linux', arch: 'amd64' } as const;
let scratch = '';
let directory = '';
let server: Server;
let base = '';
let sources: Sources;
/** The files of the server, by path. */
const files = new Map<string, string | Buffer>();

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'binaries-test-'));
  directory = join(scratch, 'cache');
  mkdirSync(directory);
  files.clear();
  server = createServer((request, response) => {
    const file = files.get(request.url ?? '');
    if (file === undefined) response.writeHead(404);
    response.end(file);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${port}`;
  sources = {
    envtestIndex: `${base}/index.yaml`,
    kubernetes: `${base}/k8s`,
    helm: `${base}/helm`,
    prometheus: `${base}/prometheus`,
  };
  for (const name of ['KUBEBUILDER_ASSETS', 'HTTP_PROXY', 'http_proxy']) vi.stubEnv(name, undefined);
  vi.stubEnv('TUNNEL_OPERATOR_CACHE', join(scratch, 'tunnel-operator'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  server.close();
  await rm(scratch, { recursive: true });
});

const digest = (algorithm: string, content: string | Buffer) => createHash(algorithm).update(content).digest('hex');

/** A .tar.gz with a script of each name in `folder`. */
function archive(folder: string, names: readonly string[]): Buffer {
  const at = join(scratch, 'archive', folder);
  mkdirSync(at, { recursive: true });
  for (const name of names) {
    writeFileSync(join(at, name), `#!/bin/sh\necho ${name}\n`);
    chmodSync(join(at, name), 0o755);
  }
  execFileSync('tar', ['-czf', join(scratch, 'a.tar.gz'), '-C', join(scratch, 'archive'), folder]);
  return readFileSync(join(scratch, 'a.tar.gz'));
}

function publishEnvtest(version: string, hash?: string): void {
  const content = archive('controller-tools/envtest', ['etcd', 'kube-apiserver', 'kubectl']);
  const entries = ['linux-amd64', 'linux-arm64', 'darwin-amd64', 'darwin-arm64'].map((name) => {
    const file = `envtest-v${version}-${name}.tar.gz`;
    files.set(`/${file}`, content);
    return `    ${file}:\n      hash: ${hash ?? digest('sha512', content)}\n      selfLink: ${base}/${file}\n`;
  });
  files.set('/index.yaml', `releases:\n  v${version}:\n${entries.join('')}`);
}

describe('published binaries', () => {
  it('are extracted from the archive of envtest, and executable', async () => {
    publishEnvtest(KUBERNETES_VERSION);
    await fetchPublished('envtest', ['etcd', 'kube-apiserver'], { platform, directory, sources });
    expect((await readdir(directory)).sort()).toEqual(['etcd', 'kube-apiserver']);
    expect(execFileSync(join(directory, 'etcd'), { encoding: 'utf8' })).toBe('etcd\n');
  });

  it('are not replaced by a build when the checksum is wrong', async () => {
    publishEnvtest(KUBERNETES_VERSION, '0'.repeat(128));
    await expect(ensureBinaries(['etcd'], { sources })).rejects.toThrow(ChecksumMismatch);
    await expect(fetchPublished('envtest', ['etcd'], { platform, directory, sources })).rejects.toThrow(
      ChecksumMismatch,
    );
    expect(await readdir(directory)).toEqual([]);
  });

  it('of a single file are checked against the checksum beside it', async () => {
    const path = `/k8s/v${KUBERNETES_VERSION}/bin/linux/amd64/kube-controller-manager`;
    files.set(path, 'binary');
    files.set(`${path}.sha256`, digest('sha256', 'binary'));
    await fetchPublished('kubernetes', ['kube-controller-manager'], { platform, directory, sources });
    expect((await stat(join(directory, 'kube-controller-manager'))).mode & 0o777).toBe(0o755);

    files.set(path, 'other');
    const fetching = fetchPublished('kubernetes', ['kube-controller-manager'], { platform, directory, sources });
    await expect(fetching).rejects.toThrow(ChecksumMismatch);
    expect(readFileSync(join(directory, 'kube-controller-manager'), 'utf8')).toBe('binary');
  });

  it('of Prometheus have the checksums of all platforms in one file', async () => {
    const release = `/prometheus/v${PROMETHEUS_VERSION}`;
    const file = `prometheus-${PROMETHEUS_VERSION}.linux-amd64.tar.gz`;
    const content = archive(`prometheus-${PROMETHEUS_VERSION}.linux-amd64`, ['prometheus', 'promtool']);
    files.set(`${release}/${file}`, content);
    const other = `${'0'.repeat(64)}  ${file.replace('linux', 'darwin')}`;
    files.set(`${release}/sha256sums.txt`, `${other}\n${digest('sha256', content)}  ${file}\n`);
    await fetchPublished('prometheus', ['promtool'], { platform, directory, sources });
    expect(await readdir(directory)).toEqual(['promtool']);
  });

  it('merely count as missing if an index or a server lacks them', async () => {
    publishEnvtest('1.20.0');
    const options = { platform, directory, sources };
    await expect(fetchPublished('envtest', ['etcd'], options)).rejects.toThrow(DownloadFailed);
    files.set('/index.yaml', '<html>Sign in</html>');
    await expect(fetchPublished('envtest', ['etcd'], options)).rejects.toThrow(DownloadFailed);
    await expect(fetchPublished('kubernetes', ['kube-controller-manager'], options)).rejects.toThrow('status 404');
    files.set(`/k8s/v${KUBERNETES_VERSION}/bin/linux/amd64/kube-controller-manager.sha256`, 'Not Found');
    await expect(fetchPublished('kubernetes', ['kube-controller-manager'], options)).rejects.toThrow('not a sha256');
  });

  it.each([
    { tags: ['v1.36.0', 'v1.36.3', 'v1.36.10'], wanted: '1.36.3', found: '1.36.3' },
    { tags: ['v1.36.2', 'v1.36.10', 'v1.37.0', 'v1.36.11-rc.0'], wanted: '1.36.3', found: '1.36.10' },
    { tags: ['v1.35.0', 'v1.3.6'], wanted: '1.36.3', found: undefined },
  ])('with the tags $tags have $found as the newest patch of $wanted', ({ tags, wanted, found }) => {
    expect(newestPatch(tags, wanted)).toBe(found);
  });
});

describe('ensureBinaries', () => {
  it('says what is missing and what would help when there is neither a network nor Go', async () => {
    const port = await freePort();
    const closed = `http://127.0.0.1:${port}`;
    vi.stubEnv('PATH', join(scratch, 'empty'));
    const progress: Progress[] = [];
    const failing = ensureBinaries(['kube-controller-manager'], {
      sources: { envtestIndex: closed, kubernetes: closed, helm: closed, prometheus: closed },
      onProgress: (step) => progress.push(step),
    });
    await expect(failing).rejects.toThrow(BinaryUnavailable);
    await expect(failing).rejects.toThrow(
      /^kube-controller-manager is not available: .* Go is not installed, so it cannot be built\./,
    );
    if (process.platform === 'linux')
      expect(progress[0]).toMatchObject({ step: 'download', names: ['kube-controller-manager'] });
  });
});
