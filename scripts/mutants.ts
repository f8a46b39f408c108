/**
 * npm run test:mutants [-- paths …] [--reach near|program|all] [--sample <number>] [--seed <number>]
 *   [--minutes <number>] [--most <number>] [--tests <path>]… [--named <pattern>] [--seats <number>] [--again] [--list]
 *
 * Breaks the source in one place at a time, in a copy of the working tree, and fails if the tests do not notice. The
 * paths are files or folders, everything but `src/main.ts` and `src/log.ts` by default. `--reach near` (default) runs
 * the tests beside the file, `program` all tests of its program, `all` also those that start both programs and a
 * cluster; files without tests within the reach are only counted. `--sample` picks that many mutations at random; the
 * same seed picks the same. `--minutes` ends the run early, as Ctrl-C does. For a quick look, whose survivors the next
 * run without these tries again, `--most` runs only so many test files for one mutation, the quickest and likeliest
 * first, `--tests` only those of a file or folder, and `--named` only the tests whose names match. `--seats` is how
 * many are tried at a time, each in a copy of its own (2). `--list` only prints the mutations.
 *
 * What the type check or the linter rejects needs no test. Results are kept in `.data/mutation/results.jsonl`: what was
 * noticed is not tried again until the file changes. A mutation that no test can notice belongs into
 * `dev/mutation/explained`, with the reason. A file of which nothing is left enters `dev/mutation/noticed.json`, to be
 * checked in; it is passed over until it changes, and then tried in the lines that have, unless `--again` is given.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { positive } from '../dev/arguments.ts';
import { changedSince, type Span } from '../dev/mutation/changed-lines.ts';
import { explanations } from '../dev/mutation/explained.ts';
import { rejectedByLint } from '../dev/mutation/lint-check.ts';
import { type Mutant, mutantsOf } from '../dev/mutation/mutant.ts';
import { openNoticed } from '../dev/mutation/noticed.ts';
import { importsOf, REACHES } from '../dev/mutation/reach.ts';
import { figures, isDead, type Outcome, openReport } from '../dev/mutation/report.ts';
import { testRunner } from '../dev/mutation/run-tests.ts';
import { sample } from '../dev/mutation/sample.ts';
import { createSandbox, type Sandbox } from '../dev/mutation/sandbox.ts';
import { trials } from '../dev/mutation/trial.ts';
import { rejectedByTypes } from '../dev/mutation/type-check.ts';

const ROOT = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    reach: { type: 'string', default: 'near' },
    sample: { type: 'string' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    most: { type: 'string' },
    tests: { type: 'string', multiple: true, default: ['test'] },
    named: { type: 'string' },
    seats: { type: 'string' },
    list: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
  },
});
const reach = z.enum(REACHES).parse(values.reach);
const seed = positive('--seed', values.seed) ?? randomInt(1, 1_000_000);
let deadline = performance.now() + (positive('--minutes', values.minutes) ?? Number.POSITIVE_INFINITY) * 60_000;
const EVERYTHING = ['api', 'client', 'operator', 'postgres', 'resources', 'retry', 'settings'].map(
  (room) => `src/${room}`,
);
const LIST = 'dev/mutation/noticed.json';
const most = positive('--most', values.most) ?? Number.POSITIVE_INFINITY;
const size = positive('--sample', values.sample);
const paths = positionals.length > 0 ? positionals : EVERYTHING;

const say = (line: string) => process.stdout.write(`${line}\n`);
const where = ({ file, line, text }: Mutant) => `${file}:${line}  ${text}`;

// The mutant under way is finished: what is known is kept, and nothing stays behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => (deadline = 0));

const sandboxes = Array.from({ length: positive('--seats', values.seats) ?? 2 }, () => createSandbox(ROOT));
const [sandbox] = sandboxes;
if (!sandbox) throw new Error('--seats must be at least 1');
const report = openReport(join(ROOT, '.data/mutation/results.jsonl'));
const { reason, stale } = explanations();

const files = sandbox.files.filter((file) => file.endsWith('.ts') && paths.some((path) => isWithin(file, path)));
const noticed = openNoticed(join(ROOT, LIST), (file) => sandbox.files.includes(file));
const sources = new Map(files.map((file) => [file, readFileSync(join(sandbox.root, file), 'utf8')]));
const isPassedOverWhole = (file: string) => !values.again && noticed.has(file, sources.get(file) ?? '');
const all = [...sources].flatMap(([file, source]) => mutantsOf(file, source));
const unexplained = all.filter(({ file, text }) => reason(file, text) === undefined);
const changes = new Map(files.filter((file) => !isPassedOverWhole(file)).map((file) => [file, changesOf(file)]));
const open = unexplained.filter(isOpenStill);
const chosen = size === undefined ? open : sample(open, size, seed);

const seats = sandboxes.map((each) => ({ sandbox: each, runner: testRunner(each, files, values.named) }));

const isWanted = (test: string) => values.tests.some((path) => isWithin(test, path));

/** What has changed since the file was noticed whole; undefined if it never was. */
function changesOf(file: string): Span[] | undefined {
  const entry = values.again ? undefined : noticed.entry(file);
  return entry === undefined ? undefined : changedSince(ROOT, LIST, file, entry);
}

function isOpenStill({ file, source, line, end }: Mutant): boolean {
  if (!changes.has(file)) return false;
  const lastLine = source.slice(0, end).split('\n').length;
  return changes.get(file)?.some(({ first, last }) => line <= last && lastLine >= first) ?? true;
}

function isWithin(file: string, path: string): boolean {
  return file === path || file.startsWith(`${path.replace(/\/$/, '')}/`);
}

/** Mutants by file that no test reaches, within the reach. */
const untested = new Map<string, number>();

/** Tries what is not known to be noticed, until the time is up. */
async function tryAll(first: Sandbox): Promise<Outcome[]> {
  const imports = importsOf(first.root, first.files);
  const { measure, tryEach } = trials({ seats, imports, reach, isWanted, most, say });
  const isNew = (mutant: Mutant) => report.find(mutant) === undefined;
  const isOpen = (mutant: Mutant) => !isDead(report.find(mutant)?.outcome ?? 'survived');
  for (const mutant of rejectedByTypes(first, chosen.filter(isNew))) {
    report.add(mutant, { outcome: 'rejected by types', reach, ms: 0 });
  }
  for (const mutant of rejectedByLint(first, chosen.filter(isOpen))) {
    report.add(mutant, { outcome: 'rejected by lint', reach, ms: 0 });
  }
  const untried = chosen.filter(isOpen);
  await measure([...new Set(untried.map(({ file }) => file))]);
  const tried = new Set<Mutant>();
  const isOver = () => performance.now() > deadline;
  await tryEach(untried, isOver, (mutant, found) => {
    tried.add(mutant);
    report.add(mutant, { ...found, reach });
    if (found.outcome === 'survived') say(`survived  ${where(mutant)}`);
    if (found.outcome === 'untested') untested.set(mutant.file, (untested.get(mutant.file) ?? 0) + 1);
  });
  return chosen.flatMap((mutant) => {
    const outcome = tried.has(mutant) || !untried.includes(mutant) ? report.find(mutant)?.outcome : undefined;
    return outcome ?? [];
  });
}

try {
  if (values.list) for (const mutant of chosen) say(where(mutant));
  const outcomes = values.list ? [] : await tryAll(sandbox);
  const outdated = files.flatMap(stale);
  for (const entry of outdated) say(`explained, but there is no such mutation  ${entry}`);
  const isDone = (mutant: Mutant) => isDead(report.find(mutant)?.outcome ?? 'survived');
  const unfinished = new Set(open.filter((mutant) => !isDone(mutant)).map(({ file }) => file));
  for (const [file, source] of sources) {
    if (!values.list && !isPassedOverWhole(file) && !unfinished.has(file)) noticed.add(file, source);
  }
  const left = chosen.length - outcomes.length;
  say(
    `${chosen.length} mutants, seed ${seed}: ${figures(outcomes)}, ${left} not tried; ` +
      `beside them ${all.length - unexplained.length} explained and ${unexplained.length - open.length} not changed since they were noticed`,
  );
  for (const [file, count] of untested) say(`untested  ${file}: ${count}`);
  if (outdated.length > 0 || outcomes.includes('survived')) process.exitCode = 1;
} finally {
  await Promise.all(seats.map(({ runner }) => runner.stop()));
  for (const each of sandboxes) each.remove();
}
