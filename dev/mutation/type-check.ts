/** Which mutants the type check rejects: nobody could commit them, so no test has to notice. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Mutant, mutantSource } from './mutant.ts';
import type { Sandbox } from './sandbox.ts';

/** One run for all: each mutant becomes a file of its own beside the original. */
export function rejectedByTypes(sandbox: Sandbox, mutants: readonly Mutant[]): Set<Mutant> {
  if (mutants.length === 0) return new Set();
  const copies = new Map(mutants.map((mutant, index) => [mutant.file.replace(/\.ts$/, `.mutant-${index}.ts`), mutant]));
  for (const [copy, mutant] of copies) sandbox.write(copy, mutantSource(mutant));
  const config = 'tsconfig.mutants.json';
  sandbox.write(config, JSON.stringify({ extends: './tsconfig.json', include: [...copies.keys()] }));
  const tsc = join(sandbox.root, 'node_modules/.bin/tsc');
  const options = { cwd: sandbox.root, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 } as const;
  const { stdout } = spawnSync(tsc, ['--noEmit', '--pretty', 'false', '-p', config], options);
  for (const path of [config, ...copies.keys()]) rmSync(join(sandbox.root, path));
  const broken = new Set([...stdout.matchAll(/^(\S+\.ts)\(\d+,\d+\): error /gm)].map(([, path]) => path));
  return new Set([...copies].filter(([copy]) => broken.has(copy)).map(([, mutant]) => mutant));
}
