/**
 * `npm run bench -- api`: every family next to a minimal Fastify and pg server on the same database (minimal-server.ts).
 * The difference is the cost of validation, ETags, limits, logs, metrics and the conversion of rows into responses.
 */
import { cpus } from 'node:os';
import { BENCH_KEY } from '../keys.ts';
import type { BenchOptions } from '../options.ts';
import { byTurns, ratioOf } from '../rounds.ts';
import { runOnce, type Stage, startStage } from '../stage.ts';
import { tableHead, tableRow } from '../table.ts';
import { CASES } from './cases.ts';
import { requireSameWork, type Side } from './same-work.ts';
import { seed } from './seed.ts';

const CONNECTIONS = 32;
const ROUNDS = 6;
/** Long enough that waking from idleness (a collected heap, cold caches) has little weight in a turn. */
const ROUND_MS = 1_500;
/**
 * Warm-up of each server over all operations, even those not requested. Until its code is compiled for all of them, a
 * request takes twice as long, and the side that does more has more to compile.
 */
const WARM_UP_MS = 60_000;
/** The first request numbers of comparison, warm-up and load: far apart from each other and from the samples. */
const COMPARED = 200_000;
const WARMING = 300_000;
const MEASURED = 1_000_000;

/** Prints a row for each operation. Takes about 20 s for each, and three minutes to prepare. */
export async function benchApi({ out, only = '', rounds = ROUNDS }: BenchOptions): Promise<void> {
  const asked = CASES.filter(({ title }) => title.includes(only));
  if (asked.length === 0) {
    throw new Error(`no operation has "${only}" in it; they are\n${CASES.map(({ title }) => title).join('\n')}`);
  }
  const stage = await startStage();
  const { processes } = stage;
  try {
    const samples = await seed(stage.url);
    // The rival has no queue, so nobody may want the events.
    await runOnce(stage.url, "update event_subscriptions set destination_ids = '{}'");
    await runOnce(stage.url, 'vacuum analyze');
    const ours = await start(stage, 'ours', 'api-process.ts');
    const minimal = await start(stage, 'minimal', 'api/minimal-server.ts');
    const order = (one: (typeof CASES)[number]) => ({
      ...one.requests(samples),
      key: BENCH_KEY,
      connections: CONNECTIONS,
    });
    out(`API: ${CONNECTIONS} connections, ${cpus().length} processors shared with the load and PostgreSQL`);
    out('');
    const columns = ['req/s', 'p99 ms', 'CPU µs'];
    out(tableHead(['operation', ...columns, ...columns.map((name) => `minimal ${name}`), 'ratio']));
    const ms = WARM_UP_MS / CASES.length;
    for (const one of CASES) {
      await requireSameWork(processes, [ours, minimal], { ...order(one), from: COMPARED }, one.title);
      for (const { server } of [ours, minimal])
        await processes.load({ ...order(one), from: WARMING, url: server.url, ms });
    }
    for (const one of asked) {
      // A plan made for a nearly empty table would read all rows that earlier operations have inserted.
      for (const { databaseUrl } of [ours, minimal]) await runOnce(databaseUrl, 'analyze');
      const turns = [ours, minimal].map(({ server }) => ({ server, order: { ...order(one), from: MEASURED } }));
      const measured = await byTurns(processes, turns, { roundMs: ROUND_MS, rounds });
      const [first, second] = measured;
      if (!first || !second) throw new Error('two sides were measured');
      const cells = measured.flatMap(({ rate, p99, cpu }) => [rate.toFixed(0), p99.toFixed(1), cpu.toFixed(0)]);
      out(tableRow([one.title, ...cells, ratioOf(first, second).toFixed(2)]));
    }
    out('');
  } finally {
    await stage.stop();
  }
}

/** A server on a copy of the samples. */
async function start(stage: Stage, name: string, program: string): Promise<Side> {
  const databaseUrl = await stage.copy(name);
  return { databaseUrl, server: await stage.processes.serve(program, { BENCH_DATABASE_URL: databaseUrl }) };
}
