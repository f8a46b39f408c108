/** Breaks one file at a time in the sandbox, and asks the tests that reach it, most likely first, until one notices. */

import { type Coverage, isExecuted } from './coverage.ts';
import { type Mutant, mutantSource } from './mutant.ts';
import { type Reach, startsProcess, testsThatReach } from './reach.ts';
import type { Outcome } from './report.ts';
import type { TestRunner, Verdict } from './run-tests.ts';
import type { Sandbox } from './sandbox.ts';

export interface Trials {
  /** Runs the tests that may be needed with nothing broken; to be called first. */
  measure(files: readonly string[]): Promise<void>;
  try(mutant: Mutant): Promise<{ readonly outcome: Outcome; readonly by?: string }>;
}

export interface TrialOptions {
  readonly sandbox: Sandbox;
  readonly runner: TestRunner;
  readonly imports: ReadonlyMap<string, readonly string[]>;
  readonly reach: Reach;
  /** Of the test files within the reach, only these. */
  readonly isWanted: (test: string) => boolean;
  /** How many test files to run for one mutant at most. */
  readonly most: number;
  readonly say: (line: string) => void;
}

/** A first run of a test file, with nothing broken. */
const LONGEST_MS = 600_000;
/** A machine that is busy with something else may fail a test, too; after this many times it is left out. */
const MOST_FAILURES = 3;
/** With something broken, a test file may take this much more. */
const PATIENCE = { ms: 10_000, factor: 5 };
/** What takes longer has waited for something that did not come, or for the machine. */
const LONG_MS = 10_000;

interface Baseline {
  readonly ms: number;
  readonly coverage: Coverage;
}

/** Tests that have noticed something in the file lately, the latest first; then those that execute most of it. */
function mostLikely(file: string, recent: readonly string[]) {
  const lateness = (test: string) => (recent.includes(test) ? recent.indexOf(test) : recent.length);
  // What is not known to load the file comes last.
  const left = ({ coverage }: Baseline) => coverage[file]?.length ?? Number.POSITIVE_INFINITY;
  return ([a, ofA]: readonly [string, Baseline], [b, ofB]: readonly [string, Baseline]) =>
    lateness(a) - lateness(b) || left(ofA) - left(ofB) || ofA.ms - ofB.ms;
}

export function trials({ sandbox, runner, imports, reach, isWanted, most, say }: TrialOptions): Trials {
  /** What is known of each test file that passes with nothing broken. */
  const passed = new Map<string, Baseline>();
  /** How often each test file has failed with nothing broken. */
  const failures = new Map<string, number>();
  /** By source file: the tests that noticed something, the latest first. */
  const noticed = new Map<string, readonly string[]>();

  const testsOf = (file: string) => testsThatReach(file, reach, imports).filter(isWanted);

  /** Runs the test with nothing broken. Undefined if it fails. Measured as long as no file has changed. */
  async function unbroken(test: string, changed?: string): Promise<Baseline | undefined> {
    const startedAt = performance.now();
    const verdict = await runner.run(changed, test, LONGEST_MS, { measured: changed === undefined });
    if (verdict.outcome === 'survived') return { ms: performance.now() - startedAt, coverage: verdict.coverage ?? {} };
    const failed = (failures.get(test) ?? 0) + 1;
    failures.set(test, failed);
    const why = verdict.outcome === 'killed' ? verdict.test : verdict.outcome;
    const then = failed < MOST_FAILURES ? 'will be tried again' : 'is left out';
    say(`${test} fails with nothing broken, and ${then}: ${why}`);
    return undefined;
  }

  function canNotice(test: string, coverage: Coverage, { file, source, start }: Mutant): boolean {
    // What is executed in a process that the test starts is not measured.
    return startsProcess(test, imports) || isExecuted(coverage, file, source, start);
  }

  /** Of what was noticed only by its taking long, the machine may be the cause. */
  async function isBelieved(verdict: Verdict, ms: number, test: string, mutant: Mutant): Promise<boolean> {
    if (verdict.outcome === 'survived' || ms < LONG_MS) return true;
    sandbox.restore(mutant.file);
    const found = await unbroken(test, mutant.file);
    sandbox.write(mutant.file, mutantSource(mutant));
    return found !== undefined;
  }

  return {
    async measure(files) {
      const tests = new Set(files.flatMap(testsOf));
      for (const test of tests) {
        while (!passed.has(test) && (failures.get(test) ?? 0) < MOST_FAILURES) {
          const found = await unbroken(test);
          if (found) passed.set(test, found);
        }
      }
    },
    async try(mutant) {
      const tests = testsOf(mutant.file);
      const baselines = [...passed].filter(([test]) => tests.includes(test));
      if (baselines.length === 0) return { outcome: 'untested' };
      const recent = noticed.get(mutant.file) ?? [];
      const able = baselines.filter(([test, { coverage }]) => canNotice(test, coverage, mutant));
      sandbox.write(mutant.file, mutantSource(mutant));
      try {
        for (const [test, usual] of able.sort(mostLikely(mutant.file, recent)).slice(0, most)) {
          const startedAt = performance.now();
          const verdict = await runner.run(mutant.file, test, PATIENCE.ms + PATIENCE.factor * usual.ms);
          if (verdict.outcome === 'survived') continue;
          if (!(await isBelieved(verdict, performance.now() - startedAt, test, mutant))) continue;
          noticed.set(mutant.file, [test, ...recent.filter((other) => other !== test)]);
          const { outcome } = verdict;
          return { outcome, by: verdict.outcome === 'killed' ? `${test}: ${verdict.test}` : test };
        }
        return { outcome: 'survived' };
      } finally {
        sandbox.restore(mutant.file);
      }
    },
  };
}
