/** Which mutants the type check rejects: nobody could commit them, so no test has to notice. */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { byPath, rejected } from './copies.ts';
import type { Mutant } from './mutant.ts';
import type { Sandbox } from './sandbox.ts';

/** One run for all. */
export function rejectedByTypes(sandbox: Pick<Sandbox, 'root' | 'write'>, mutants: readonly Mutant[]): Set<Mutant> {
  const config = 'tsconfig.mutants.json';
  return rejected(sandbox, mutants, () => {
    // All of the source: what one file adds to a type by `declare module`, files use that do not import it.
    sandbox.write(config, JSON.stringify({ extends: './tsconfig.json', include: ['src'] }));
    const tsc = join(sandbox.root, 'node_modules/.bin/tsc');
    const options = { cwd: sandbox.root, encoding: 'utf8', maxBuffer: 512 * 1024 ** 2 } as const;
    const { stdout } = spawnSync(tsc, ['--noEmit', '--pretty', 'false', '-p', config], options);
    rmSync(join(sandbox.root, config));
    const lines = stdout.matchAll(/^(?<path>\S+\.ts)\(\d+,\d+\): (?<error>error .*)$/gm);
    // A message may name a type by the file that declares it.
    return byPath(
      lines.map(({ groups = {} }) => [String(groups.path), String(groups.error).replace(/\.mutant-\w+/g, '')]),
    );
  });
}
