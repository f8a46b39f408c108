/** Which mutants the type check rejects: nobody could commit them, so no test has to notice. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Mutant, mutantSource } from './mutant.ts';
import type { Sandbox } from './sandbox.ts';

/**
 * One run for all: each mutant becomes a file of its own beside the original. So does the original itself, since a copy
 * may have errors that are not the mutant's.
 */
export function rejectedByTypes(sandbox: Pick<Sandbox, 'root' | 'write'>, mutants: readonly Mutant[]): Set<Mutant> {
  if (mutants.length === 0) return new Set();
  const copyOf = (file: string, name: string | number) => file.replace(/\.ts$/, `.mutant-${name}.ts`);
  const copies = new Map(mutants.map((mutant, index) => [copyOf(mutant.file, index), mutant]));
  const originals = new Map(mutants.map(({ file, source }) => [copyOf(file, 'none'), source]));
  for (const [copy, mutant] of copies) sandbox.write(copy, mutantSource(mutant));
  for (const [copy, source] of originals) sandbox.write(copy, source);
  const config = 'tsconfig.mutants.json';
  // All of the source: what one file adds to a type by `declare module`, files use that do not import it.
  sandbox.write(config, JSON.stringify({ extends: './tsconfig.json', include: ['src'] }));
  const tsc = join(sandbox.root, 'node_modules/.bin/tsc');
  const options = { cwd: sandbox.root, encoding: 'utf8', maxBuffer: 512 * 1024 ** 2 } as const;
  const { stdout } = spawnSync(tsc, ['--noEmit', '--pretty', 'false', '-p', config], options);
  for (const path of [config, ...copies.keys(), ...originals.keys()]) rmSync(join(sandbox.root, path));
  const errors = new Map<string, Set<string>>();
  for (const [, path = '', error = ''] of stdout.matchAll(/^(\S+\.ts)\(\d+,\d+\): (error .*)$/gm)) {
    // A message may name a type by the file that declares it.
    errors.set(path, (errors.get(path) ?? new Set()).add(error.replace(/\.mutant-\w+/g, '')));
  }
  const none = new Set<string>();
  const isRejected = ([copy, { file }]: readonly [string, Mutant]) =>
    !(errors.get(copy) ?? none).isSubsetOf(errors.get(copyOf(file, 'none')) ?? none);
  return new Set([...copies].filter(isRejected).map(([, mutant]) => mutant));
}
