import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const BUILD = join(import.meta.dirname, '../../scripts/build.ts');

test.each(['', '.', '..'])('the build empties only its own folder: "%s" is refused', (named) => {
  const folder = mkdtempSync(join(tmpdir(), 'tunnel-operator-build-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const cwd = join(folder, 'inner');
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'kept'), '');
  const { status, stderr } = spawnSync(process.execPath, [BUILD, named], { cwd, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('is not empty') });
  expect(readdirSync(cwd)).toEqual(['kept']);
});
