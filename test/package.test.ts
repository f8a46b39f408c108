/** The package as users install it: JavaScript under node_modules, with its declarations. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { ADMIN_KEY, startTestApi } from './api/harness.ts';

const ROOT = join(import.meta.dirname, '..');
const run = promisify(execFile);

const consumer = await mkdtemp(join(tmpdir(), 'tunnel-operator-consumer-'));
const modules = join(consumer, 'node_modules');
const installed = join(modules, 'tunnel-operator');
afterAll(() => rm(consumer, { recursive: true }));

/** Installs the packed files as npm would, but with the dependencies of this project. */
async function install(): Promise<void> {
  await run('npm', ['pack', '--pack-destination', consumer], { cwd: ROOT });
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')));
  await run('mkdir', ['-p', installed]);
  await run('tar', ['-xzf', `tunnel-operator-${version}.tgz`, '--strip-components=1', '-C', installed], {
    cwd: consumer,
  });
  await symlink(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
}

await install();

const PROGRAM = `
import { type Client, createClient } from 'tunnel-operator/client';

const client: Client = createClient({ baseUrl: process.argv[2] ?? '', apiKey: process.argv[3] ?? '' });
const { id, description } = await client.ipPolicies.create({ description: 'from the package' });
const wanted: string | null = description;
for await (const policy of client.ipPolicies.list()) if (policy.id === id) process.stdout.write(String(wanted));
await client.close();
`;

test('the client can be imported, has types, and calls the API', async () => {
  const api = await startTestApi();
  const url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  const options = { strict: true, module: 'nodenext', target: 'es2024', noEmit: true, types: ['node'] };
  await symlink(join(ROOT, 'node_modules', '@types'), join(modules, '@types'));
  await writeFile(join(consumer, 'program.ts'), PROGRAM);
  await writeFile(join(consumer, 'package.json'), '{"type":"module"}');
  await writeFile(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['program.ts'] }));
  await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', consumer]);
  const { stdout } = await run(process.execPath, ['program.ts', url, ADMIN_KEY], { cwd: consumer });
  expect(stdout).toBe('from the package');
});

test('the package has what is needed to run and use it, and no development files', async () => {
  const found = await readdir(installed);
  const expected = ['CHANGELOG.md', 'LICENSE', 'README.md', 'crds', 'dist', 'docs', 'node_modules', 'package.json'];
  expect(found.toSorted()).toEqual(expected);
  expect(await readdir(join(installed, 'crds'))).toEqual(await readdir(join(ROOT, 'crds')));
  expect(await readdir(join(installed, 'docs'))).toEqual(expect.arrayContaining(['api.md', 'kinds', 'operator.md']));
});

test('the command line runs', async () => {
  const { stdout } = await run(process.execPath, [join(installed, 'dist', 'main.js'), 'api', '--help']);
  expect(stdout).toContain('DATABASE_URL');
});

/** Sends the process SIGTERM when it resolves the first module beyond its entry. */
const atOnce = `import { registerHooks } from 'node:module';
const early = ['commander', './command-line.js'];
registerHooks({ resolve: (name, context, next) => (early.includes(name) && process.kill(process.pid, 'SIGTERM'), next(name, context)) });`;

test.each(['api', 'operator', 'migrate', 'rotate-encryption', 'crds', 'export', 'plan', 'openapi', '--help'])(
  'the command line handles SIGTERM before it is loaded: %s',
  async (command) => {
    const preload = ['--import', `data:text/javascript,${encodeURIComponent(atOnce)}`];
    const args = [...preload, join(installed, 'dist', 'main.js'), command];
    const child = spawn(process.execPath, args, { stdio: 'ignore' });
    // Process 1 of a container ignores a signal without a handler; elsewhere, SIGTERM would end it.
    expect(await once(child, 'close')).toEqual([143, null]);
  },
);

test('the package has the migrations of the database', async () => {
  const { migrations } = await import(join(installed, 'dist', 'api', 'store', 'migrate.js'));
  const { migrations: ours } = await import('../src/api/store/migrate.ts');
  expect(await migrations()).toEqual(await ours());
});
