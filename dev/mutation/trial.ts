/** Breaks one file at a time in a sandbox and runs the tests that reach it until one fails. */
import { dirname } from 'node:path';
import { type Coverage, isExecuted } from './coverage.ts';
import { type Mutant, mutate } from './mutators.ts';
import { type Imports, startsProcess, testsThatReach } from './reach.ts';
import type { TestRunner, Verdict } from './run-tests.ts';
import type { Sandbox } from './sandbox.ts';

/** Where one mutant at a time is tried. */
export interface Seat {
  readonly sandbox: Pick<Sandbox, 'write' | 'restore'>;
  readonly runner: TestRunner;
}

interface Trials {
  readonly imports: Imports;
  /** Which test files may be used. */
  readonly isInTier: (test: string) => boolean;
  readonly say: (line: string) => void;
}

/** What a group of test files executes of the unbroken source, and which of them fail on it. */
interface Measured {
  readonly coverage: Coverage;
  readonly failing: ReadonlySet<string>;
}

/** Test files per group. They are measured together, since loading the source takes most of the time. */
const GROUP = 8;

/** @returns the trial of one mutant, which resolves to `killed` with the test that failed, or `survived` */
export function trialsWith({ imports, isInTier, say }: Trials): (seat: Seat, mutant: Mutant) => Promise<Verdict> {
  const inTier = [...imports.keys()].filter((file) => file.endsWith('.test.ts') && isInTier(file)).toSorted();
  const groups = [...Map.groupBy(inTier, dirname).values()].flatMap((tests) =>
    Array.from({ length: Math.ceil(tests.length / GROUP) }, (_, at) => tests.slice(at * GROUP, (at + 1) * GROUP)),
  );
  const measurements = new Map<readonly string[], Promise<Measured>>();

  /** Runs `work` with the mutant's file restored. */
  async function restored<T>({ sandbox }: Seat, mutant: Mutant, work: () => Promise<T>): Promise<T> {
    sandbox.restore(mutant.file);
    const result = await work();
    sandbox.write(mutant.file, mutate(mutant.source, mutant));
    return result;
  }

  async function measure({ runner }: Seat, file: string, group: readonly string[]): Promise<Measured> {
    const failing = new Set<string>();
    for (;;) {
      const left = group.filter((test) => !failing.has(test));
      const verdict = await runner.run(file, left, true);
      if (verdict.outcome === 'survived') return { coverage: verdict.coverage ?? {}, failing };
      say(`${verdict.file} fails with nothing broken, and is left out: ${verdict.by}`);
      if (verdict.file === '') return { coverage: {}, failing: new Set(group) };
      failing.add(verdict.file);
    }
  }

  function measured(seat: Seat, mutant: Mutant, group: readonly string[]): Promise<Measured> {
    const known = measurements.get(group);
    if (known) return known;
    const found = restored(seat, mutant, () => measure(seat, mutant.file, group));
    measurements.set(group, found);
    return found;
  }

  async function tryWith(seat: Seat, mutant: Mutant, tests: readonly string[]): Promise<Verdict> {
    for (let left = tests; left.length > 0; ) {
      const verdict = await seat.runner.run(mutant.file, left);
      if (verdict.outcome === 'survived') break;
      const { file, by } = verdict;
      if (file === '') return verdict;
      // The test may fail without the mutant as well: always, or because the machine is busy.
      const unbroken = await restored(seat, mutant, () => seat.runner.run(mutant.file, [file]));
      if (unbroken.outcome === 'survived') return verdict;
      say(`${file} fails without ${mutant.file}:${mutant.line} too: ${by}`);
      left = left.filter((test) => test !== file);
    }
    return { outcome: 'survived' };
  }

  /** Most mutants are killed by the nearest test. The others are tried with the groups that execute them. */
  async function tryOne(seat: Seat, mutant: Mutant): Promise<Verdict> {
    const { file, source, start } = mutant;
    const tests = testsThatReach(file, imports, isInTier);
    const [nearest] = tests;
    const verdict = await tryWith(seat, mutant, tests.slice(0, 1));
    if (verdict.outcome === 'killed') return verdict;
    for (const [group, some] of Map.groupBy(tests, (test) => groups.find((each) => each.includes(test)) ?? [])) {
      const { coverage, failing } = await measured(seat, mutant, group);
      // The coverage does not include processes that a test starts.
      const isMeant = (test: string) => startsProcess(test, imports) || isExecuted(coverage, file, source, start);
      const verdict = await tryWith(
        seat,
        mutant,
        some.filter((test) => test !== nearest && !failing.has(test) && isMeant(test)),
      );
      if (verdict.outcome === 'killed') return verdict;
    }
    return { outcome: 'survived' };
  }

  return async (seat, mutant) => {
    seat.sandbox.write(mutant.file, mutate(mutant.source, mutant));
    try {
      return await tryOne(seat, mutant);
    } finally {
      seat.sandbox.restore(mutant.file);
    }
  };
}
