/**
 * Which mutants the linter rejects, since nobody waits for a promise: nobody could commit them, either. The rules are those of
 * `.oxlintrc.json`, which go by types; others would object to how mutants are written, such as a condition that is constant.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { z } from 'zod';
import { byPath, rejected } from './copies.ts';
import type { Mutant } from './mutant.ts';
import type { Sandbox } from './sandbox.ts';

/** As `oxlint --format=json` prints it. */
const Report = z.object({ diagnostics: z.array(z.object({ message: z.string(), filename: z.string() })) });

/** One run for all. */
export function rejectedByLint(sandbox: Pick<Sandbox, 'root' | 'write'>, mutants: readonly Mutant[]): Set<Mutant> {
  return rejected(sandbox, mutants, () => {
    const oxlint = join(sandbox.root, 'node_modules/.bin/oxlint');
    const options = { cwd: sandbox.root, encoding: 'utf8', maxBuffer: 512 * 1024 ** 2 } as const;
    const { stdout } = spawnSync(oxlint, ['--type-aware', '--format=json', 'src'], options);
    const { diagnostics } = Report.parse(JSON.parse(stdout));
    return byPath(diagnostics.map(({ filename, message }) => [filename, message]));
  });
}
