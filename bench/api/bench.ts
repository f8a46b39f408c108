/**
 * `npm run bench -- api`: every family next to a minimal Fastify and pg handler with the same statements in the same
 * transactions. The difference is the cost of routing, validation, ETags, logs, metrics and building responses from
 * rows.
 */
import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { BENCH_KEY } from '../keys.ts';
import type { BenchOptions } from '../options.ts';
import { byTurns, ratioOf } from '../rounds.ts';
import { runOnce, type Stage, startStage } from '../stage.ts';
import { tableHead, tableRow } from '../table.ts';
import { fillTemplate, type Lists } from '../template.ts';
import { type Case, plainLists, plan, type Seed } from './cases.ts';
import { startRehearsal } from './rehearsal.ts';
import { requireSameWork, type Side } from './same-work.ts';
import type { Script } from './script.ts';

const CONNECTIONS = 32;
const ROUNDS = 6;
/** Long enough that recovering from idleness (a collected heap, cold caches) is not a large part of a turn. */
const ROUND_MS = 1_500;
/**
 * For each server, over all operations, whichever are measured: until its code is compiled well, a request takes twice
 * the time, and the server that does more has more to compile.
 */
const WARM_UP_MS = 60_000;
/** First request numbers of each phase (GETs, recording, comparison, warm-up, load), far enough apart. */
const READ = 0;
const RECORDED = 100_000;
const COMPARED = 200_000;
const WARMING = 300_000;
const MEASURED = 1_000_000;

/** Prints a row for each operation. Takes about 20 s per row, after three minutes of preparation. */
export async function benchApi({ out, only = '', rounds = ROUNDS }: BenchOptions): Promise<void> {
  const { seeds, cases } = await plan();
  if (!cases.some(({ title }) => title.includes(only))) {
    throw new Error(
      `no operation matches "${only}"; the operations are\n${cases.map(({ title }) => title).join('\n')}`,
    );
  }
  const stage = await startStage();
  const { processes } = stage;
  try {
    const { lists, scripts } = await rehearse(stage, seeds, cases);
    const sides = await startBoth(stage, scripts);
    out(`API: ${CONNECTIONS} connections, ${cpus().length} processors shared with the load and PostgreSQL`);
    out('');
    const columns = ['req/s', 'p99 ms', 'CPU µs'];
    out(tableHead(['operation', 'round trips', ...columns, ...columns.map((name) => `minimal ${name}`), 'ratio']));
    for (const { one } of scripts) {
      const ms = WARM_UP_MS / scripts.length;
      for (const { server } of sides)
        await processes.load({ ...orderOf(one, lists), from: WARMING, url: server.url, ms });
    }
    for (const { one, script } of scripts.filter(({ one: { title } }) => title.includes(only))) {
      const order = orderOf(one, lists);
      await requireSameWork(processes, sides, { ...order, from: COMPARED }, one.title);
      // Plans made for nearly empty tables would scan everything that the rows before this one have inserted.
      for (const { databaseUrl } of sides) await runOnce(databaseUrl, 'analyze');
      const loaded = sides.map(({ server }) => ({ server, order: { ...order, from: MEASURED } }));
      const measured = await byTurns(processes, loaded, { roundMs: ROUND_MS, rounds });
      const [ours, minimal] = measured;
      if (!ours || !minimal) throw new Error('both sides must be measured');
      const cells = measured.flatMap(({ rate, p99, cpu }) => [rate.toFixed(0), p99.toFixed(1), cpu.toFixed(0)]);
      out(tableRow([one.title, String(script.steps.length), ...cells, ratioOf(ours, minimal).toFixed(2)]));
    }
    out('');
  } finally {
    await stage.stop();
  }
}

interface Scripted {
  one: Case;
  script: Script;
}

async function rehearse({ url }: Stage, seeds: readonly Seed[], cases: readonly Case[]) {
  const rehearsal = await startRehearsal(url);
  try {
    const lists = await rehearsal.seed(seeds, plainLists());
    const scripts: Scripted[] = [];
    for (const one of cases)
      scripts.push({ one, script: await rehearsal.record(one, lists, one.body === undefined ? READ : RECORDED) });
    return { lists, scripts };
  } finally {
    await rehearsal.stop();
    await runOnce(url, 'vacuum analyze');
  }
}

/** The API and the baseline, each on a copy of the rehearsal's database. */
async function startBoth(stage: Stage, scripts: readonly Scripted[]): Promise<[Side, Side]> {
  const file = join(stage.folder, 'scripts.json');
  await writeFile(file, JSON.stringify(Object.fromEntries(scripts.map(({ one, script }) => [one.title, script]))));
  const start = async (name: string, program: string, env: Record<string, string>): Promise<Side> => {
    const databaseUrl = await stage.copy(name);
    return { databaseUrl, server: await stage.processes.serve(program, { BENCH_DATABASE_URL: databaseUrl, ...env }) };
  };
  return [
    await start('ours', 'api-process.ts', {}),
    await start('minimal', 'api/baseline-process.ts', { BENCH_SCRIPTS: file }),
  ];
}

/** A GET always requests the same resource. */
function orderOf({ method, path, query = '', body }: Case, lists: Lists) {
  const common = { method, key: BENCH_KEY, connections: CONNECTIONS };
  return body === undefined
    ? { ...common, path: fillTemplate(path, READ, lists) + query }
    : { ...common, path, body, lists };
}
