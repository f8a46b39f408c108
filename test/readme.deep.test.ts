/** The first command in a fresh copy of this checkout installs the dependencies, with the npm on this machine. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const folder = await mkdtemp(join(tmpdir(), 'tunnel-operator-fresh-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

test('npm start installs what it needs, without a warning', async () => {
  const checkout = join(folder, 'tunnel-operator');
  const leftOut = ['node_modules', '.git', '.data', 'dist'].map((name) => join(ROOT, name));
  await cp(ROOT, checkout, { recursive: true, filter: (path) => !leftOut.includes(path) });
  const { stdout, stderr } = await promisify(execFile)('npm', ['start', '--', 'operator', '--help'], { cwd: checkout });
  expect(stderr).toContain('dependencies installed in');
  expect(stderr).not.toContain('EBADENGINE');
  expect(stdout).toContain('TUNNEL_API_URL');
});
