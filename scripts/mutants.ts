/**
 * npm run test:mutants -- [path …] [--changed] [--sample <number>] [--seed <number>] [--all] [--seats <number>] [--list]
 *
 * Breaks the source in one place at a time, in a copy of the working tree, and fails if the tests do not notice. The
 * paths are files or folders of `src` (default: all). `--changed` breaks only lines that have changed since the branch left
 * `main`, or on `main` since the commit before the newest. `--sample` draws that many mutants; the same seed draws the
 * same. The tests of `npm test` are used, with `--all` also those of `npm run test:all`, nearest first. `--seats` is how
 * many mutants are tried at a time (2), `--list` only prints them. Ctrl-C ends with the figures so far.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { positive } from '../dev/arguments.ts';
import { randomFrom } from '../dev/fixtures/random.ts';
import { changedSince } from '../dev/mutation/changed-lines.ts';
import { rejectedByLint, rejectedByTypes } from '../dev/mutation/check.ts';
import { type Mutant, mutantsOf } from '../dev/mutation/mutators.ts';
import { importsOf } from '../dev/mutation/reach.ts';
import { testRunner } from '../dev/mutation/run-tests.ts';
import { createSandbox, type Sandbox } from '../dev/mutation/sandbox.ts';
import { type Seat, trialsWith } from '../dev/mutation/trial.ts';

const ROOT = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    changed: { type: 'boolean', default: false },
    sample: { type: 'string' },
    seed: { type: 'string' },
    all: { type: 'boolean', default: false },
    seats: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});
const seed = positive('--seed', values.seed) ?? randomInt(1, 1_000_000);
const size = positive('--sample', values.sample);
const paths = positionals.length > 0 ? positionals : ['src'];

const say = (line: string) => process.stdout.write(`${line}\n`);
const where = ({ file, line, text }: Mutant) => `${file}:${line}  ${text}`;
const isWithin = (file: string, path: string) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`);

let isOver = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => (isOver = true));

const changed = values.changed ? changedSince(ROOT) : undefined;

function isChanged({ file, source, line, end }: Mutant): boolean {
  const lastLine = source.slice(0, end).split('\n').length;
  return !changed || (changed.get(file) ?? []).some(({ first, last }) => line <= last && lastLine >= first);
}

/** Draws mutants, in random order, so that the figures of an interrupted run hold for all of them. */
function draw(mutants: readonly Mutant[], count: number): Mutant[] {
  const random = randomFrom(seed);
  const lots = mutants.map((mutant) => ({ mutant, lot: random.next() })).toSorted((a, b) => a.lot - b.lot);
  return lots.slice(0, count).map(({ mutant }) => mutant);
}

const isInTier = (test: string) => !test.endsWith('.deep.test.ts') && (values.all || !test.endsWith('.all.test.ts'));

const sandboxes = Array.from({ length: positive('--seats', values.seats) ?? 2 }, () => createSandbox(ROOT));
const [first] = sandboxes;
if (!first) throw new Error('--seats must be at least 1');
const files = first.files.filter(
  (file) => isWithin(file, 'src') && file.endsWith('.ts') && paths.some((path) => isWithin(file, path)),
);
const found = files.flatMap((file) => mutantsOf(file, readFileSync(join(first.root, file), 'utf8'))).filter(isChanged);
const chosen = size === undefined ? found : draw(found, size);
const seats = sandboxes.map((sandbox): Seat => {
  const sources = [...new Set(chosen.map(({ file }) => file))];
  return { sandbox, runner: testRunner(sandbox, sources) };
});

try {
  say(`${chosen.length} of ${found.length} mutants, seed ${seed}`);
  if (values.list) for (const mutant of chosen) say(where(mutant));
  else await tryAll(first);
} finally {
  await Promise.all(seats.map(({ runner }) => runner.stop()));
  for (const sandbox of sandboxes) sandbox.remove();
}

async function tryAll(sandbox: Sandbox): Promise<void> {
  const types = rejectedByTypes(sandbox, chosen);
  const typed = chosen.filter((mutant) => !types.has(mutant));
  const lint = rejectedByLint(sandbox, typed);
  const compiled = typed.filter((mutant) => !lint.has(mutant));
  const tryOne = trialsWith({ imports: importsOf(sandbox.root, sandbox.files), isInTier, say });
  const survivors: Mutant[] = [];
  const left = compiled.values();
  let tried = 0;
  const sit = async (seat: Seat) => {
    for (let next = left.next(); !next.done && !isOver; next = left.next()) {
      const startedAt = performance.now();
      const verdict = await tryOne(seat, next.value);
      if (verdict.outcome === 'survived') survivors.push(next.value);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      const by = verdict.outcome === 'killed' ? `  by ${verdict.file}: ${verdict.by}` : '';
      say(`${++tried}/${compiled.length}  ${verdict.outcome}, ${seconds} s  ${where(next.value)}${by}`);
    }
  };
  await Promise.all(seats.map(sit));
  for (const mutant of survivors) say(`survived  ${where(mutant)}`);
  const killed = tried - survivors.length;
  const rate = tried === 0 ? '' : `, ${((100 * killed) / tried).toFixed(1)} % of those tried`;
  const untried = tried === compiled.length ? '' : `, ${compiled.length - tried} not tried`;
  say(`rejected by types ${types.size}, by lint ${lint.size}`);
  say(`compiled ${compiled.length}, killed ${killed}${rate}, survived ${survivors.length}${untried}`);
  if (survivors.length > 0) process.exitCode = 1;
}
