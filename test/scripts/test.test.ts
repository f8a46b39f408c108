import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

test('--exclude leaves out files in addition to the deep tests, not in their place', async () => {
  const chosen = ['test/retry/', 'test/readme.deep'];
  const args = ['scripts/test.ts', ...chosen, '--exclude=test/retry/backoff.test.ts'];
  const { TEST_DEEP: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: { ...env, NO_COLOR: '1' } });
  expect(stdout.match(/\S+\.test\.ts/g)).toEqual(['test/retry/retry-after.test.ts']);
  expect(stdout).toMatch(/\n[1-9]\d* passed, 0 failed\n$/);
});
