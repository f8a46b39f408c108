/** Runs the health check of the chart in the Lua interpreter of Argo CD. Only for test files. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import { BinaryUnavailable, ensureBinaries } from '../../dev/control-plane/binaries.ts';
import { CHART } from './helm.ts';

const program = await ensureBinaries(['lua']).catch((error: unknown) => {
  if (!(error instanceof BinaryUnavailable)) throw error;
  return error;
});
export const LACKS_LUA = program instanceof BinaryUnavailable ? program.message : undefined;

const script = readFileSync(join(CHART, 'files/argocd-health.lua'), 'utf8');
const health = z.object({ status: z.string(), message: z.string() });

/** What Argo CD shows of each object. */
export function argoHealth(objects: readonly unknown[]): z.output<typeof health>[] {
  if (program instanceof BinaryUnavailable) throw program;
  const input = JSON.stringify({ script, objects });
  const { status, stdout, stderr } = spawnSync(program.lua, { input, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => health.parse(JSON.parse(line)));
}
