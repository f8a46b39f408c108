/** Breaks one file at a time in a sandbox and runs the tests that reach it until one fails. */
import { type Coverage, isExecuted } from './coverage.ts';
import { type Mutant, mutate } from './mutators.ts';
import { type Imports, startsProcess, testsThatReach } from './reach.ts';
import type { TestRunner, Verdict } from './run-tests.ts';
import { FILE_ITSELF } from './runner.ts';
import type { Sandbox } from './sandbox.ts';

/** Where one mutant at a time is tried. */
export interface Seat {
  readonly sandbox: Pick<Sandbox, 'write' | 'restore'>;
  readonly runner: TestRunner;
}

export interface Trials {
  readonly imports: Imports;
  /** Which test files may be used. */
  readonly isInTier: (test: string) => boolean;
  readonly say: (line: string) => void;
}

/** A failure after this long may be due to a busy machine. */
const LONG_MS = 10_000;

/** @returns the trial of one mutant, which resolves to `killed` with the test that failed, or `survived` */
export function trialsWith({ imports, isInTier, say }: Trials): (seat: Seat, mutant: Mutant) => Promise<Verdict> {
  /** What each test file executes of the unbroken source; undefined if it fails on that, and is left out. */
  const coverages = new Map<string, Promise<Coverage | undefined>>();

  async function runUnbroken({ runner }: Seat, test: string, file: string): Promise<Coverage | undefined> {
    for (const attempt of ['will be tried again', 'is left out']) {
      const verdict = await runner.run(file, [test], true);
      if (verdict.outcome === 'survived') return verdict.coverage ?? {};
      say(`${test} fails with nothing broken, and ${attempt}: ${verdict.by}`);
    }
    return undefined;
  }

  /** Runs `work` with the mutant's file restored. */
  async function restored<T>({ sandbox }: Seat, mutant: Mutant, work: () => Promise<T>): Promise<T> {
    sandbox.restore(mutant.file);
    const result = await work();
    sandbox.write(mutant.file, mutate(mutant.source, mutant));
    return result;
  }

  function coverageOf(seat: Seat, test: string, mutant: Mutant): Promise<Coverage | undefined> {
    const known = coverages.get(test);
    if (known) return known;
    const found = restored(seat, mutant, () => runUnbroken(seat, test, mutant.file));
    coverages.set(test, found);
    return found;
  }

  /** Whether the mutant caused the failure: on a busy machine, tests also time out or fail to load. */
  async function isBelieved(seat: Seat, mutant: Mutant, file: string, by: string, ms: number): Promise<boolean> {
    if (ms < LONG_MS && !by.startsWith(FILE_ITSELF)) return true;
    return (await restored(seat, mutant, () => seat.runner.run(mutant.file, [file]))).outcome === 'survived';
  }

  /** Whether the test file executes the mutant. The coverage does not include processes that the test starts. */
  async function executes(seat: Seat, test: string, mutant: Mutant): Promise<boolean> {
    const coverage = await coverageOf(seat, test, mutant);
    if (!coverage) return false;
    return startsProcess(test, imports) || isExecuted(coverage, mutant.file, mutant.source, mutant.start);
  }

  async function tryWith(seat: Seat, mutant: Mutant, tests: readonly string[]): Promise<Verdict> {
    // First those that no other seat is measuring.
    for (const test of tests) if (!coverages.has(test)) await coverageOf(seat, test, mutant);
    let left: string[] = [];
    for (const test of tests) if (await executes(seat, test, mutant)) left.push(test);
    while (left.length > 0) {
      const startedAt = performance.now();
      const verdict = await seat.runner.run(mutant.file, left);
      if (verdict.outcome === 'survived') break;
      if (await isBelieved(seat, mutant, verdict.file, verdict.by, performance.now() - startedAt)) return verdict;
      say(`${verdict.file} fails without ${mutant.file}:${mutant.line} too: ${verdict.by}`);
      left = left.slice(left.indexOf(verdict.file) + 1);
    }
    return { outcome: 'survived' };
  }

  return async (seat, mutant) => {
    const { file, source } = mutant;
    seat.sandbox.write(file, mutate(source, mutant));
    try {
      const tests = testsThatReach(file, imports, isInTier);
      // Most mutants are killed by one of the nearest tests; the test files of a run share their modules.
      for (let at = 0, size = 1; at < tests.length; at += size, size *= 4) {
        const verdict = await tryWith(seat, mutant, tests.slice(at, at + size));
        if (verdict.outcome === 'killed') return verdict;
      }
      return { outcome: 'survived' };
    } finally {
      seat.sandbox.restore(file);
    }
  };
}
