/** Breaks one file at a time in a sandbox, and asks the tests that reach it, until one notices. */

import { type Coverage, isExecuted } from './coverage.ts';
import { type Mutant, mutantSource } from './mutant.ts';
import { type Reach, startsProcess, testsThatReach } from './reach.ts';
import type { Outcome } from './report.ts';
import type { TestRunner, Verdict } from './run-tests.ts';
import { FILE_ITSELF } from './runner.ts';
import type { Sandbox } from './sandbox.ts';

/** Where one mutant at a time is tried. */
export interface Seat {
  readonly sandbox: Sandbox;
  readonly runner: TestRunner;
}

export interface Trials {
  /** Runs the tests that may be needed with nothing broken; to be called first. */
  measure(files: readonly string[]): Promise<void>;
  /** Tries every mutant, on as many seats as there are at a time, until `isOver`; reports what is certain. */
  tryEach(
    mutants: readonly Mutant[],
    isOver: () => boolean,
    report: (mutant: Mutant, found: Found) => void,
  ): Promise<void>;
}

export interface Found {
  readonly outcome: Outcome;
  readonly by?: string;
  readonly ms: number;
}

export interface TrialOptions {
  readonly seats: readonly Seat[];
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

/** How often a test file was asked about a source file, and how often it noticed. */
interface Tally {
  readonly asked: number;
  readonly noticed: number;
}

/** None of its tests has run: it cannot be loaded any more, or nothing can, as while packages are installed. */
const isOfFile = (verdict: Verdict) => verdict.outcome === 'killed' && verdict.test.startsWith(FILE_ITSELF);

/** As long as little is known: half of them, and fewer of those that are not known to load the file at all. */
const likelihoodOf = ({ asked, noticed }: Tally, isLoading: boolean) => (noticed + 1) / (asked + (isLoading ? 2 : 8));

/** Work by as many as there are seats, each at one item at a time. */
async function onEachSeat<Item>(
  seats: readonly Seat[],
  items: Iterable<Item>,
  work: (seat: Seat, item: Item) => Promise<void>,
): Promise<void> {
  const left = items[Symbol.iterator]();
  const sit = async (seat: Seat) => {
    for (let next = left.next(); !next.done; next = left.next()) await work(seat, next.value);
  };
  await Promise.all(seats.map(sit));
}

export function trials({ seats, imports, reach, isWanted, most, say }: TrialOptions): Trials {
  /** What is known of each test file that passes with nothing broken. */
  const passed = new Map<string, Baseline>();
  /** How often each test file has failed with nothing broken. */
  const failures = new Map<string, number>();
  /** By source file and test file. */
  const tallies = new Map<string, Tally>();

  const testsOf = (file: string) => testsThatReach(file, reach, imports).filter(isWanted);
  const tallyOf = (file: string, test: string) => tallies.get(`${file} ${test}`) ?? { asked: 0, noticed: 0 };

  function count(file: string, test: string, isNoticed: boolean): void {
    const { asked, noticed } = tallyOf(file, test);
    tallies.set(`${file} ${test}`, { asked: asked + 1, noticed: noticed + (isNoticed ? 1 : 0) });
  }

  /** In the order that finds out soonest on average: by the time it takes over the likelihood that it notices. */
  function inOrder(file: string, tests: readonly (readonly [string, Baseline])[]) {
    const costOf = ([test, { ms, coverage }]: readonly [string, Baseline]) =>
      ms / likelihoodOf(tallyOf(file, test), file in coverage);
    return tests.toSorted((a, b) => costOf(a) - costOf(b));
  }

  /** Runs the test with nothing broken. Undefined if it fails. Measured as long as no file has changed. */
  async function unbroken({ runner }: Seat, test: string, changed?: string): Promise<Baseline | undefined> {
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

  /** Of what was noticed only by its taking long, or by no test at all, the machine may be the cause. */
  async function isBelieved(seat: Seat, verdict: Verdict, ms: number, test: string, mutant: Mutant): Promise<boolean> {
    if (verdict.outcome === 'survived' || (ms < LONG_MS && !isOfFile(verdict))) return true;
    const { sandbox } = seat;
    sandbox.restore(mutant.file);
    const found = await unbroken(seat, test, mutant.file);
    sandbox.write(mutant.file, mutantSource(mutant));
    return found !== undefined;
  }

  /** Undefined if that cannot be told, since the machine is too busy. */
  async function tryOne(seat: Seat, mutant: Mutant): Promise<Omit<Found, 'ms'> | undefined> {
    const { sandbox, runner } = seat;
    const { file } = mutant;
    const tests = testsOf(file);
    const baselines = [...passed].filter(([test]) => tests.includes(test));
    if (baselines.length === 0) return { outcome: 'untested' };
    const able = baselines.filter(([test, { coverage }]) => canNotice(test, coverage, mutant));
    sandbox.write(file, mutantSource(mutant));
    let isUncertain = false;
    try {
      for (const [test, usual] of inOrder(file, able).slice(0, most)) {
        const startedAt = performance.now();
        const verdict = await runner.run(file, test, PATIENCE.ms + PATIENCE.factor * usual.ms);
        const { outcome } = verdict;
        const isNoticed =
          outcome !== 'survived' && (await isBelieved(seat, verdict, performance.now() - startedAt, test, mutant));
        count(file, test, isNoticed);
        if (isNoticed) return { outcome, by: outcome === 'killed' ? `${test}: ${verdict.test}` : test };
        isUncertain ||= outcome !== 'survived';
      }
      return isUncertain ? undefined : { outcome: 'survived' };
    } finally {
      sandbox.restore(file);
    }
  }

  return {
    async measure(files) {
      await onEachSeat(seats, new Set(files.flatMap(testsOf)), async (seat, test) => {
        while (!passed.has(test) && (failures.get(test) ?? 0) < MOST_FAILURES) {
          const found = await unbroken(seat, test);
          if (found) passed.set(test, found);
        }
      });
    },
    async tryEach(mutants, isOver, report) {
      await onEachSeat(seats, mutants, async (seat, mutant) => {
        if (isOver()) return;
        const startedAt = performance.now();
        const found = await tryOne(seat, mutant);
        if (found) report(mutant, { ...found, ms: Math.round(performance.now() - startedAt) });
      });
    },
  };
}
