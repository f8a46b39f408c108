/**
 * `npm run bench -- compare commit`: this checkout against a commit, or a folder with another checkout, by turns: one IP
 * policy read, a page of them, and one created, each API on a database of its own; then creation and deletion of many
 * objects, each operator with a stack of its own.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { ipPolicy } from '../src/resources/ip-policy.ts';
import { BENCH_KEY } from './keys.ts';
import { PHASE_COLUMNS, phaseRow } from './operator.ts';
import { type Phase, prepareRun } from './operator-run.ts';
import { build, type Side, startStack } from './operator-stack.ts';
import type { BenchOptions } from './options.ts';
import { byTurns, median, ratioOf } from './rounds.ts';
import { startStage } from './stage.ts';
import { tableHead, tableRow } from './table.ts';

const ROOT = resolve(import.meta.dirname, '..');
const ROUNDS = 5;
const ROUND_MS = 2_000;
/** Warm-up per server and operation: before that, much of the time goes into compiling. */
const WARM_UP_MS = 15_000;
const PER_KIND = Number(process.env.BENCH_OBJECTS ?? 1000);

const { path, samples } = ipPolicy;
const common = { key: BENCH_KEY, connections: 32 };
const page = { ...common, method: 'GET', path: `${path}?limit=100` };
const create = { ...common, method: 'POST', path, body: JSON.stringify(samples.full) };
const made = z.object({ id: z.string() });

export async function benchCompare({ out, against, only, rounds = ROUNDS }: BenchOptions): Promise<void> {
  if (against === undefined) throw new Error('compare needs a commit, or the folder of another checkout');
  const other = existsSync(against) ? { root: resolve(against), remove: () => {} } : checkOut(against);
  try {
    for (const [part, compare] of Object.entries({ api: compareApis, operator: compareOperators })) {
      if (only === undefined || only === part) await compare([ROOT, other.root], rounds, out);
    }
  } finally {
    other.remove();
  }
}

/** A git worktree of the commit, with this checkout's packages unless it needs others. */
function checkOut(commit: string): { root: string; remove: () => void } {
  const root = join(mkdtempSync(join(tmpdir(), 'tunnel-operator-bench-')), 'checkout');
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  const remove = () => {
    git('worktree', 'remove', '--force', root);
    rmSync(resolve(root, '..'), { recursive: true, force: true });
  };
  git('worktree', 'add', '--quiet', '--detach', root, commit);
  const lock = (folder: string) => readFileSync(join(folder, 'package-lock.json'), 'utf8');
  try {
    if (lock(root) === lock(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    else execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  } catch (error) {
    remove();
    throw error;
  }
  return { root, remove };
}

async function compareApis(roots: readonly string[], rounds: number, out: BenchOptions['out']): Promise<void> {
  const stage = await startStage();
  const { processes } = stage;
  const start = async (root: string, side: number) => {
    const env = { BENCH_DATABASE_URL: await stage.empty(`side_${side}`) };
    const server = await processes.serve(join(root, 'bench/api-process.ts'), env);
    const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' };
    const response = await fetch(server.url + path, { method: 'POST', headers, body: create.body });
    const { id } = made.parse(await response.json());
    await processes.load({ ...create, url: server.url, requests: 100, ms: WARM_UP_MS });
    return { server, orders: [{ ...common, method: 'GET', path: `${path}/${id}` }, page, create] };
  };
  try {
    // One after the other, since all load comes from one process, which takes one order at a time.
    const sides: Awaited<ReturnType<typeof start>>[] = [];
    for (const [at, root] of roots.entries()) sides.push(await start(root, at));
    out(`API: ${rounds} rounds of ${ROUND_MS / 1000} s each, ${common.connections} connections`);
    out('');
    const columns = ['req/s', 'CPU µs', 'database CPU µs'];
    out(tableHead(['operation', ...columns, ...columns.map((name) => `other ${name}`), 'ratio']));
    for (const [at, title] of [`GET ${path}/{id}`, `GET ${page.path}`, `POST ${path}`].entries()) {
      const turns = sides.flatMap(({ server, orders }) => orders.slice(at, at + 1).map((order) => ({ server, order })));
      for (const { server, order } of turns) await processes.load({ ...order, url: server.url, ms: WARM_UP_MS });
      const measured = await byTurns(processes, turns, { rounds, roundMs: ROUND_MS });
      const [ours, other] = measured;
      if (!ours || !other) throw new Error('two sides were measured');
      const cells = measured.flatMap(({ rate, cpu, loadCpu, machineCpu }) =>
        [rate, cpu, machineCpu - cpu - loadCpu].map((each) => each.toFixed(0)),
      );
      out(tableRow([title, ...cells, ratioOf(ours, other).toFixed(2)]));
    }
    out('');
  } finally {
    await stage.stop();
  }
}

const PHASES = ['creation', 'restart', 'deletion'] as const;
type Round = Readonly<Record<(typeof PHASES)[number], Phase>>;

async function compareOperators(roots: readonly string[], rounds: number, out: BenchOptions['out']): Promise<void> {
  const taken = roots.map((): Round[] => []);
  const folder = mkdtempSync(join(tmpdir(), 'tunnel-operator-bench-'));
  try {
    const sides: Side[] = [];
    for (const root of roots) sides.push({ root, main: await build(root, join(folder, String(sides.length))) });
    for (let round = 0; round < rounds; round++) {
      // Each side is first in every other round: the second finds warm caches, and a machine that may have slowed down.
      const turns = [...sides.entries()];
      for (const [at, side] of round % 2 === 0 ? turns : turns.toReversed()) taken[at]?.push(await operatorRound(side));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  out(`Operator: ${rounds} rounds of ${PER_KIND} IPPolicies and ${PER_KIND} TunnelCredentials; medians`);
  out('');
  out(tableHead(PHASE_COLUMNS));
  for (const phase of PHASES) {
    for (const [side, title] of ['here', 'other'].entries()) {
      out(phaseRow(`${phase}, ${title}`, medians((taken[side] ?? []).map((each) => each[phase])), 2 * PER_KIND));
    }
  }
  out('');
  out('Here against the other, round by round, then the median of these ratios');
  out('');
  out(tableHead(['', ...Array.from({ length: rounds }, (_, round) => String(round + 1)), 'median']));
  for (const phase of PHASES) {
    out(ratioRow(`${phase}, speed`, taken, ({ [phase]: { seconds } }) => 1 / seconds));
    out(ratioRow(`${phase}, CPU`, taken, ({ [phase]: { cpuSeconds } }) => cpuSeconds));
  }
  out('');
}

function ratioRow(title: string, [ours = [], others = []]: Round[][], of: (round: Round) => number): string {
  const ratios = ours.flatMap((round, at) => {
    const other = others[at];
    return other ? [of(round) / of(other)] : [];
  });
  return tableRow([title, ...[...ratios, median(ratios)].map((ratio) => ratio.toFixed(2))]);
}

/** On a stack of its own, so that no round meets what an earlier one has left. */
async function operatorRound(side: Side): Promise<Round> {
  const stack = await startStack(side);
  try {
    const run = await prepareRun(stack, 'bench', PER_KIND);
    const round = { creation: await run.creation(), restart: await run.restart(), deletion: await run.deletion() };
    await run.stop();
    return round;
  } finally {
    await stack.stop();
  }
}

function medians(phases: readonly Phase[]): Phase {
  const of = (member: keyof Phase) => median(phases.map((phase) => phase[member]));
  return {
    seconds: of('seconds'),
    cpuSeconds: of('cpuSeconds'),
    writes: of('writes'),
    reads: of('reads'),
    api: of('api'),
    peakMiB: of('peakMiB'),
  };
}
