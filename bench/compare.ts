/**
 * `npm run bench -- compare dir`: compares the API of this checkout with that of another one, in turns: GET of one
 * IP policy, and POST. Each starts on an empty database, which it migrates itself.
 */
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { ipPolicy } from '../src/resources/ip-policy.ts';
import { BENCH_KEY } from './keys.ts';
import type { BenchOptions } from './options.ts';
import { byTurns, ratioOf } from './rounds.ts';
import { startStage } from './stage.ts';
import { tableHead, tableRow } from './table.ts';

const ROUNDS = 5;
const ROUND_MS = 2_000;
/** Warm-up per server and operation: before that, much of the time goes into compiling. */
const WARM_UP_MS = 15_000;

const { path, samples } = ipPolicy;
const common = { key: BENCH_KEY, connections: 32 };
const create = { ...common, method: 'POST', path, body: JSON.stringify(samples.full) };
const made = z.object({ id: z.string() });

export async function benchCompare({ out, dir, rounds = ROUNDS }: BenchOptions): Promise<void> {
  if (dir === undefined) throw new Error('compare needs the folder of the other checkout');
  const stage = await startStage();
  const { processes } = stage;
  const start = async (name: string, folder: string) => {
    const env = { BENCH_DATABASE_URL: await stage.empty(name) };
    const server = await processes.serve(join(folder, 'bench/api-process.ts'), env);
    const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' };
    const response = await fetch(server.url + path, { method: 'POST', headers, body: create.body });
    const { id } = made.parse(await response.json());
    return { server, orders: [{ ...common, method: 'GET', path: `${path}/${id}` }, create] as const };
  };
  try {
    const sides = [await start('here', resolve(import.meta.dirname, '..')), await start('there', resolve(dir))];
    out(`This checkout, and ${dir}: ${rounds} rounds of ${ROUND_MS / 1000} s each, ${common.connections} connections`);
    out('');
    out(tableHead(['operation', 'req/s', 'CPU µs', 'other req/s', 'other CPU µs', 'ratio']));
    for (const [at, title] of [`GET ${path}/{id}`, `POST ${path}`].entries()) {
      const turns = sides.flatMap(({ server, orders }) => orders.slice(at, at + 1).map((order) => ({ server, order })));
      for (const { server, order } of turns) await processes.load({ ...order, url: server.url, ms: WARM_UP_MS });
      const measured = await byTurns(processes, turns, { rounds, roundMs: ROUND_MS });
      const [ours, other] = measured;
      if (!ours || !other) throw new Error('two sides were measured');
      const cells = measured.flatMap(({ rate, cpu }) => [rate.toFixed(0), cpu.toFixed(0)]);
      out(tableRow([title, ...cells, ratioOf(ours, other).toFixed(2)]));
    }
    out('');
  } finally {
    await stage.stop();
  }
}
