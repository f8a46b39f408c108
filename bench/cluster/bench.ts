/** `npm run bench -- processes`: 1, 2 and 4 API processes behind one address, on one database. */
import { cpus } from 'node:os';
import { z } from 'zod';
import { ipPolicy } from '../../src/resources/ip-policy.ts';
import { BENCH_KEY } from '../keys.ts';
import type { BenchOptions } from '../options.ts';
import { byTurns, ratioOf } from '../rounds.ts';
import { startStage } from '../stage.ts';
import { tableHead, tableRow } from '../table.ts';

const COUNTS = [1, 2, 4];
const ROUNDS = 8;
const ROUND_MS = 2_000;
/** Warm-up per process: before that, much of the time goes into compiling. */
const WARM_UP_MS = 8_000;

const { path, samples } = ipPolicy;
const common = { key: BENCH_KEY, connections: 32 };
const create = { ...common, method: 'POST', path, body: JSON.stringify(samples.full) };
const made = z.object({ id: z.string() });

export async function benchCluster({ out, rounds = ROUNDS }: BenchOptions): Promise<void> {
  const stage = await startStage();
  const { processes } = stage;
  try {
    const databaseUrl = await stage.empty('processes');
    const start = (count: number) =>
      processes.serve('cluster/front.ts', { BENCH_DATABASE_URL: databaseUrl, BENCH_PROCESSES: String(count) });
    const servers = [];
    for (const count of COUNTS) servers.push({ count, server: await start(count) });
    const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' };
    const response = await fetch(servers[0]?.server.url + path, { method: 'POST', headers, body: create.body });
    const { id } = made.parse(await response.json());
    out(
      `${COUNTS.join(', ')} API processes: ${rounds} rounds of ${ROUND_MS / 1000} s each, ${common.connections} connections, ${cpus().length} processors shared with the load and PostgreSQL`,
    );
    out('');
    const columns = ['req/s', 'p99 ms', 'API µs', 'load µs', 'PostgreSQL and system µs', 'processors in use', 'ratio'];
    out(tableHead(['operation, processes', ...columns]));
    for (const order of [{ ...common, method: 'GET', path: `${path}/${id}` }, create]) {
      const turns = servers.map(({ server }) => ({ server, order }));
      for (const { count, server } of servers)
        await processes.load({ ...order, url: server.url, ms: WARM_UP_MS * count });
      const measured = await byTurns(processes, turns, { rounds, roundMs: ROUND_MS });
      const [alone] = measured;
      for (const [index, one] of measured.entries()) {
        const rest = one.machineCpu - one.cpu - one.loadCpu;
        const cells = [one.rate, one.p99, one.cpu, one.loadCpu, rest].map((n, at) => n.toFixed(at === 1 ? 1 : 0));
        const inUse = ((one.machineCpu * one.rate) / 1_000_000).toFixed(2);
        const title = `${order.method}, ${servers[index]?.count}`;
        out(tableRow([title, ...cells, inUse, ratioOf(one, alone ?? one).toFixed(2)]));
      }
    }
    out('');
  } finally {
    await stage.stop();
  }
}
