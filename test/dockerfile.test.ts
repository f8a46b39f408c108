/** Checks the image without building it; chart/node.all.test.ts runs it in Pods. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

const flag = z.boolean().optional();
const names = z.array(z.string()).optional();
const lock = z.object({
  packages: z.record(
    z.string(),
    z.object({ dev: flag, optional: flag, devOptional: flag, hasInstallScript: flag, cpu: names, os: names }),
  ),
});

const DOCKERFILE = readFileSync(join(import.meta.dirname, '../Dockerfile'), 'utf8');

test('the image keeps licences when it drops files for editors', () => {
  const [, command = ''] = /&& (find node_modules .*?-delete) /s.exec(DOCKERFILE) ?? [];
  const folder = mkdtempSync(join(tmpdir(), 'tunnel-operator-image-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const of = join(folder, 'node_modules/of');
  mkdirSync(of, { recursive: true });
  const kept = ['COPYING.md', 'LICENCE.md', 'LICENSE', 'NOTICE.md', 'index.js', 'license.md', 'package.json'];
  for (const file of [...kept, 'README.md', 'index.d.ts', 'index.js.map']) writeFileSync(join(of, file), '');
  execFileSync('sh', ['-c', command], { cwd: folder });
  expect(readdirSync(of).sort()).toEqual(kept);
});

test('the image has the notices of its version of Swagger UI, which the package leaves out', () => {
  const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  const bundle = read('node_modules/@fastify/swagger-ui/static/swagger-ui-bundle.js');
  const [, version] = /PACKAGE_VERSION:"([^"]+)"/.exec(bundle) ?? [];
  expect(read('docs/licences.md')).toContain(`Swagger UI ${version},`);
  expect(read('licences/swagger-ui/NOTICE')).toContain('SmartBear');
  expect(DOCKERFILE).toMatch(/^COPY licences \/app\/licences$/m);
  expect(read('.dockerignore')).toMatch(/^!licences$/m);
});

test('the image installs the same packages for every processor', () => {
  const { packages } = lock.parse(JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')));
  const shipped = Object.entries(packages).filter(([, each]) => !(each.dev || each.optional || each.devOptional));
  expect(shipped.length).toBeGreaterThan(50);
  expect(shipped.filter(([, { cpu, os, hasInstallScript }]) => cpu ?? os ?? hasInstallScript)).toEqual([]);
});

test('the image starts from scratch, with a numeric user', () => {
  const [, last = ''] = /^FROM scratch\n(.*)/ms.exec(DOCKERFILE) ?? [];
  expect(last).toMatch(/^USER 65532:65532$/m);
  expect(last).toMatch(/^STOPSIGNAL SIGTERM$/m);
  expect(last).toMatch(/^ENTRYPOINT \["\/node", .*"\/app\/dist\/main.js"\]$/m);
  expect(last).not.toMatch(/^RUN /m);
  // For the metric build_info.
  expect(last).toMatch(/^ENV .*\bTUNNEL_OPERATOR_COMMIT=\$\{REVISION\}$/m);
});
