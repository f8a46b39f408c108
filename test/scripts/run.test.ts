/** scripts/run.mjs in a checkout without dependencies, with an `npm` that only says that it was called. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const LOCK = '.data/install.lock';

function checkout(npm: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tunnel-operator-run-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const each of ['scripts', '.data', 'bin', 'node_modules']) mkdirSync(join(folder, each));
  copyFileSync(join(ROOT, 'scripts/run.mjs'), join(folder, 'scripts/run.mjs'));
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ packages: { 'node_modules/x': { version: '1' } } }),
  );
  writeFileSync(join(folder, 'bin/npm'), `#!/bin/sh\n${npm}\n`);
  chmodSync(join(folder, 'bin/npm'), 0o755);
  return folder;
}

async function run(folder: string) {
  const env = { ...process.env, PATH: [join(folder, 'bin'), process.env.PATH].join(delimiter) };
  const child = spawn(process.execPath, [join(folder, 'scripts/run.mjs')], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { said, code };
}

test('an installation that fails leaves no lock', async () => {
  const folder = checkout('exit 1');
  const { said, code } = await run(folder);
  expect({ said, code }).toEqual({ said: expect.stringContaining('npm ci failed'), code: 1 });
  expect(existsSync(join(folder, LOCK))).toBe(false);
});

test('the lock of a killed process is waited for, then taken, even if its process id is reused', async () => {
  const folder = checkout('exit 0');
  writeFileSync(join(folder, LOCK), String(process.pid));
  const { said, code } = await run(folder);
  expect(said).toMatch(/^waiting for another process.*\n.*running npm ci/);
  expect(code).toBe(0);
});

test('of two simultaneous runs, one installs', async () => {
  const installed = '{"packages":{"node_modules/x":{"version":"1"}}}';
  const folder = checkout(`sleep 1; echo '${installed}' >node_modules/.package-lock.json`);
  const both = await Promise.all([run(folder), run(folder)]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(both.filter(({ said }) => said.includes('running npm ci'))).toHaveLength(1);
});
