/** `npm run bench -- memory`: how much memory one API process uses under load, and whether it grows. */

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { scrape, total } from '../metrics.ts';
import type { BenchOptions } from '../options.ts';
import type { Server } from '../processes.ts';
import { startStage } from '../stage.ts';
import { tableHead, tableRow } from '../table.ts';
import { slope } from './slope.ts';

const MINUTES = 10;
const EVERY_MS = 10_000;
/** Code is still being compiled and caches fill during this time. */
const SETTLING_MS = 60_000;

const memory = z.object({ rss: z.number(), heapUsed: z.number(), external: z.number(), handles: z.number() });
const counted = z.object({ requests: z.number(), unexpected: z.string() });

interface Sample extends z.output<typeof memory> {
  atMs: number;
  requests: number;
  connections: number;
}

/** Prints a line every 10 s, then the slope of each figure over the requests after the first minute. */
export async function benchMemory({ out, minutes = MINUTES }: BenchOptions): Promise<void> {
  const stage = await startStage();
  try {
    const api = await stage.processes.serve('api-process.ts', { BENCH_DATABASE_URL: stage.url }, ['--expose-gc']);
    const load = await stage.processes.serve('memory/load-process.ts', { BENCH_URL: api.url });
    out(`Memory of one API process under mixed load for ${minutes} minutes; the heap after a forced collection`);
    out('');
    out(tableHead(['s', 'requests', 'RSS MiB', 'heap MiB', 'external MiB', 'handles', 'database connections']));
    const samples: Sample[] = [];
    const started = performance.now();
    const end = started + minutes * 60_000;
    while (performance.now() < end) {
      await sleep(EVERY_MS);
      const sample = await take(api, load, performance.now() - started);
      samples.push(sample);
      out(row(sample));
    }
    const settled = samples.filter(({ atMs }) => atMs >= SETTLING_MS);
    out('');
    if (settled.length < 2) return out('The run was too short to measure growth.');
    out(`Growth after the first minute, least squares, per 1,000 requests (${settled.length} samples)`);
    for (const [name, of] of [
      ['heap after collection', ({ heapUsed }: Sample) => heapUsed],
      ['external', ({ external }: Sample) => external],
      ['RSS', ({ rss }: Sample) => rss],
    ] as const) {
      const perRequest = slope(settled.map((sample) => [sample.requests, of(sample)]));
      out(`  ${name.padEnd(24)}${((perRequest * 1000) / 1024).toFixed(3)} KiB`);
    }
    out('');
  } finally {
    await stage.stop();
  }
}

async function take(api: Server, load: Server, atMs: number): Promise<Sample> {
  const { requests, unexpected } = await load.ask('counts', counted);
  if (unexpected !== '') throw new Error(`unexpected response: ${unexpected}`);
  const samples = await scrape(api.url);
  const connections = total(samples, 'tunnel_api_db_pool_connections', { state: ['used', 'idle'] });
  return { ...(await api.ask('memory', memory)), atMs, requests, connections };
}

function row({ atMs, requests, rss, heapUsed, external, handles, connections }: Sample): string {
  const mib = (bytes: number) => (bytes / 1024 ** 2).toFixed(2);
  const cells = [(atMs / 1000).toFixed(0), requests, mib(rss), mib(heapUsed), mib(external), handles, connections];
  return tableRow(cells.map(String));
}
