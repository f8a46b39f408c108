/**
 * Which mutants the linter rejects, since nobody waits for a promise: nobody could commit them, either. Other rules are not
 * asked: that a condition is constant is how a mutant is written, not what is wrong with it.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import { byPath, rejected } from './copies.ts';
import type { Mutant } from './mutant.ts';
import type { Sandbox } from './sandbox.ts';

/** One that `biome.json` has as an error. */
const RULE = 'nursery/noFloatingPromises';

/** As `biome lint --reporter=json` prints it. */
const Report = z.object({
  diagnostics: z.array(z.object({ message: z.string(), location: z.object({ path: z.string() }) })),
});

/** One run for all. */
export function rejectedByLint(sandbox: Pick<Sandbox, 'root' | 'write'>, mutants: readonly Mutant[]): Set<Mutant> {
  return rejected(sandbox, mutants, () => {
    const biome = join(sandbox.root, 'node_modules/.bin/biome');
    // The sandbox is no repository.
    const args = ['lint', '--vcs-enabled=false', `--only=${RULE}`, '--max-diagnostics=none', '--reporter=json'];
    const options = { cwd: sandbox.root, encoding: 'utf8', maxBuffer: 512 * 1024 ** 2 } as const;
    const { stdout } = spawnSync(biome, [...args, 'src'], options);
    const { diagnostics } = Report.parse(JSON.parse(stdout));
    return byPath(diagnostics.map(({ message, location }) => [location.path, message]));
  });
}
