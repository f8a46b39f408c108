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
/** A machine that is busy with something else may fail a test, too; after this many times it is left out. */
const MOST_FAILURES = 3;
/** With something broken, a test file may take this much more. */
const PATIENCE = { ms: 10_000, factor: 5 };

export function trials({ sandbox, runner, imports, reach, say }: TrialOptions): Trials {
  /** How long each test file takes with nothing broken. */
  const durations = new Map<string, number>();
  /** How often each test file has failed with nothing broken. */
  const failures = new Map<string, number>();
  /** By source file: the tests that noticed something, the latest first. */
  const noticed = new Map<string, readonly string[]>();

  /** Undefined for a test file that fails with nothing broken. */
  async function usualDuration(test: string, mutant: Mutant): Promise<number | undefined> {
    const failed = failures.get(test) ?? 0;
    if (durations.has(test) || failed === MOST_FAILURES) return durations.get(test);
    sandbox.restore(mutant.file);
    const startedAt = performance.now();
    const verdict = await runner.run(mutant.file, test, LONGEST_MS);
    sandbox.write(mutant.file, mutantSource(mutant));
    if (verdict.outcome === 'survived') durations.set(test, performance.now() - startedAt);
    else {
      failures.set(test, failed + 1);
      const why = verdict.outcome === 'killed' ? verdict.test : verdict.outcome;
      const then = failed + 1 < MOST_FAILURES ? 'will be tried again' : 'is left out';
      say(`${test} fails with nothing broken, and ${then}: ${why}`);
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
