/** Breaks one file at a time in the sandbox, and asks the tests that reach it, most likely first, until one notices. */
import { type Mutant, mutantSource } from './mutant.ts';
import { type Reach, testsThatReach } from './reach.ts';
import type { Outcome } from './report.ts';
import type { TestRunner } from './run-tests.ts';
import type { Sandbox } from './sandbox.ts';

export interface Trials {
  try(mutant: Mutant): Promise<{ readonly outcome: Outcome; readonly by?: string }>;
}

export interface TrialOptions {
  readonly sandbox: Sandbox;
  readonly runner: TestRunner;
  readonly imports: ReadonlyMap<string, readonly string[]>;
  readonly reach: Reach;
  readonly say: (line: string) => void;
}

/** A first run of a test file, with nothing broken. */
const LONGEST_MS = 600_000;
/** With something broken, a test file may take this much more. */
const PATIENCE = { ms: 10_000, factor: 5 };

export function trials({ sandbox, runner, imports, reach, say }: TrialOptions): Trials {
  /** How long each test file takes with nothing broken; undefined for one that fails then. */
  const durations = new Map<string, number | undefined>();
  /** By source file: the tests that noticed something, the latest first. */
  const noticed = new Map<string, readonly string[]>();

  async function usualDuration(test: string, mutant: Mutant): Promise<number | undefined> {
    if (!durations.has(test)) {
      sandbox.restore(mutant.file);
      const startedAt = performance.now();
      const verdict = await runner.run(mutant.file, test, LONGEST_MS);
      const { outcome } = verdict;
      const why = verdict.outcome === 'killed' ? verdict.test : outcome;
      if (outcome !== 'survived') say(`${test} fails with nothing broken, and is left out: ${why}`);
      durations.set(test, outcome === 'survived' ? performance.now() - startedAt : undefined);
      sandbox.write(mutant.file, mutantSource(mutant));
    }
    return durations.get(test);
  }

  return {
    async try(mutant) {
      const recent = noticed.get(mutant.file) ?? [];
      const tests = testsThatReach(mutant.file, reach, imports);
      const inOrder = [...recent, ...tests.filter((test) => !recent.includes(test))];
      let outcome: Outcome = 'untested';
      sandbox.write(mutant.file, mutantSource(mutant));
      try {
        for (const test of inOrder) {
          const usual = await usualDuration(test, mutant);
          if (usual === undefined) continue;
          const verdict = await runner.run(mutant.file, test, PATIENCE.ms + PATIENCE.factor * usual);
          outcome = verdict.outcome;
          if (outcome === 'survived') continue;
          noticed.set(mutant.file, [test, ...recent.filter((other) => other !== test)]);
          return { outcome, by: verdict.outcome === 'killed' ? `${test}: ${verdict.test}` : test };
        }
        return { outcome };
      } finally {
        sandbox.restore(mutant.file);
      }
    },
  };
}
