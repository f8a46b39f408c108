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

type Killed = Extract<Verdict, { outcome: 'killed' }>;

/** A run of a test file on the unbroken source. */
interface Baseline {
  readonly ms: number;
  readonly coverage: Coverage;
}

const LONGEST_MS = 600_000;
/** A test file may take this much longer on broken source. */
const PATIENCE = { ms: 10_000, factor: 5 };
/** A failure after this long may be due to a busy machine. */
const LONG_MS = 10_000;

/** @returns the trial of one mutant, which resolves to `killed` with the test that failed, or `survived` */
export function trialsWith({ imports, isInTier, say }: Trials): (seat: Seat, mutant: Mutant) => Promise<Verdict> {
  /** Undefined: the test file fails on the unbroken source and is left out. */
  const baselines = new Map<string, Promise<Baseline | undefined>>();

  async function runUnbroken({ runner }: Seat, test: string, file: string): Promise<Baseline | undefined> {
    for (const attempt of ['will be tried again', 'is left out']) {
      const startedAt = performance.now();
      const verdict = await runner.run(file, [test], () => LONGEST_MS, true);
      const ms = performance.now() - startedAt;
      if (verdict.outcome === 'survived') return { ms, coverage: verdict.coverage ?? {} };
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

  function baselineOf(seat: Seat, test: string, mutant: Mutant): Promise<Baseline | undefined> {
    const known = baselines.get(test);
    if (known) return known;
    const found = restored(seat, mutant, () => runUnbroken(seat, test, mutant.file));
    baselines.set(test, found);
    return found;
  }

  /** Whether the mutant caused the failure: on a busy machine, tests also time out or fail to load. */
  async function isBelieved(seat: Seat, { file, by }: Killed, ms: number, mutant: Mutant): Promise<boolean> {
    if (ms < LONG_MS && !by.startsWith(FILE_ITSELF)) return true;
    const again = await restored(seat, mutant, () => seat.runner.run(mutant.file, [file], () => LONGEST_MS));
    return again.outcome === 'survived';
  }

  /** Those of the test files that execute the mutant, with how long each usually takes. */
  async function thatExecute(seat: Seat, mutant: Mutant, tests: readonly string[]): Promise<Map<string, number>> {
    const { file, source, start } = mutant;
    const found = new Map<string, number>();
    for (const test of tests) {
      const usual = await baselineOf(seat, test, mutant);
      // The coverage does not include processes that the test starts.
      if (usual && (startsProcess(test, imports) || isExecuted(usual.coverage, file, source, start)))
        found.set(test, usual.ms);
    }
    return found;
  }

  async function killedBy(seat: Seat, mutant: Mutant, tests: readonly string[]): Promise<Verdict> {
    const usual = await thatExecute(seat, mutant, tests);
    const patience = (test: string) => PATIENCE.ms + PATIENCE.factor * (usual.get(test) ?? 0);
    for (let left = [...usual.keys()]; left.length > 0; ) {
      const startedAt = performance.now();
      const verdict = await seat.runner.run(mutant.file, left, patience);
      if (verdict.outcome === 'survived') break;
      if (await isBelieved(seat, verdict, performance.now() - startedAt, mutant)) return verdict;
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
        const verdict = await killedBy(seat, mutant, tests.slice(at, at + size));
        if (verdict.outcome === 'killed') return verdict;
      }
      return { outcome: 'survived' };
    } finally {
      seat.sandbox.restore(file);
    }
  };
}
