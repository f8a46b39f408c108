/** What can be said of the image without building it; what it does as Pods is in chart/node.all.test.ts. */
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

test('licences stay when what is for editors goes', () => {
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

test('the notices of Swagger UI, which its package leaves out, are in the image, and of its version', () => {
  const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  const bundle = read('node_modules/@fastify/swagger-ui/static/swagger-ui-bundle.js');
  const [, version] = /PACKAGE_VERSION:"([^"]+)"/.exec(bundle) ?? [];
  expect(read('docs/licences.md')).toContain(`Swagger UI ${version},`);
  expect(read('licences/swagger-ui/NOTICE')).toContain('SmartBear');
  expect(DOCKERFILE).toMatch(/^COPY licences \/app\/licences$/m);
  expect(read('.dockerignore')).toMatch(/^!licences$/m);
});

test('what it installs is the same for every processor', () => {
  const { packages } = lock.parse(JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')));
  const shipped = Object.entries(packages).filter(([, each]) => !(each.dev || each.optional || each.devOptional));
  expect(shipped.length).toBeGreaterThan(50);
  expect(shipped.filter(([, { cpu, os, hasInstallScript }]) => cpu ?? os ?? hasInstallScript)).toEqual([]);
});

test('it starts from nothing, as a user with a number, with the list of what is in it', () => {
  const [, last = ''] = /^FROM scratch\n(.*)/ms.exec(DOCKERFILE) ?? [];
  expect(last).toMatch(/^USER 65532:65532$/m);
  expect(last).toMatch(/^STOPSIGNAL SIGTERM$/m);
  expect(last).toMatch(/^ENTRYPOINT \["\/node", .*"\/app\/dist\/main.js"\]$/m);
  expect(last).not.toMatch(/^RUN /m);
});
