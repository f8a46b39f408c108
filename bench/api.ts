/**
 * The API next to a minimal Fastify and pg handler with the same statements, authentication included: what routing,
 * validation, ETags, logs and metrics cost. Both run as processes of their own on one database, in alternating rounds.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { openDatabase } from '../src/api/store/database.ts';
import { startEmbeddedPostgres } from '../src/api/store/embedded.ts';
import { migrate } from '../src/api/store/migrate.ts';
import { newId } from '../src/resources/id.ts';
import type { LoadOrder } from './api-load.ts';

const ROWS = 10_000;
const CONNECTIONS = 32;
const ROUNDS = 8;
const ROUND_MS = 1_500;
const WARM_UP_MS = 1_500;
export const BENCH_KEY = 'tnl_ak_of_the_benchmark_0123456789';

const loadResult = z.object({ requests: z.number(), seconds: z.number(), p99: z.number(), failures: z.number() });
type LoadResult = z.output<typeof loadResult>;

/** Prints requests per second and the 99th percentile of latency of both, and their ratio. Takes about 90 s. */
export async function benchApi({ out }: { out: (line: string) => void }): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'tunnel-operator-bench-'));
  const children: ChildProcess[] = [];
  const postgres = await startEmbeddedPostgres({ dataDir: join(root, 'data', 'postgres') });
  try {
    await migrate(postgres.url);
    const servers = [
      await serve('api-ours.ts', postgres.url, children),
      await serve('api-baseline.ts', postgres.url, children),
    ];
    const id = await fill(postgres.url);

    out(
      `API: ${ROWS} IP policies, ${CONNECTIONS} connections, ${cpus().length} processors shared with the load and PostgreSQL`,
    );
    out('');
    out('| operation | ours, req/s | p99 ms | CPU µs/req | minimal, req/s | p99 ms | CPU µs/req | ratio |');
    out('| --- | --: | --: | --: | --: | --: | --: | --: |');
    const body = JSON.stringify({ description: 'benchmark', metadata: '{"bench":true}' });
    for (const [name, order] of [
      ['GET one', { method: 'GET', path: `/ip_policies/${id}` }],
      ['GET list of 100', { method: 'GET', path: '/ip_policies?limit=100' }],
      ['POST', { method: 'POST', path: '/ip_policies', body }],
    ] as const) {
      const common = { connections: CONNECTIONS, key: BENCH_KEY, ...order };
      for (const { url } of servers) await load({ ...common, url, ms: WARM_UP_MS });
      const rounds = servers.map(() => [] as Round[]);
      for (let round = 0; round < ROUNDS; round++) {
        for (const [index, { url, cpuMicroseconds }] of servers.entries()) {
          const before = await cpuMicroseconds();
          const result = await load({ ...common, url, ms: ROUND_MS });
          rounds[index]?.push({ ...result, cpu: (await cpuMicroseconds()) - before });
        }
      }
      out(row(name, rounds.map(summary)));
    }
    out('');
  } finally {
    for (const child of children) child.kill('SIGTERM');
    await postgres.stop();
    await rm(root, { recursive: true, force: true });
  }
}

interface Server {
  url: string;
  /** Processor time that it has used so far. */
  cpuMicroseconds(): Promise<number>;
}

/** Starts a server that reports its address first and its processor time whenever asked; it ends on SIGTERM. */
async function serve(file: string, databaseUrl: string, children: ChildProcess[]): Promise<Server> {
  const env = { ...process.env, BENCH_DATABASE_URL: databaseUrl, NODE_ENV: 'production' };
  const child = fork(join(import.meta.dirname, file), { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  children.push(child);
  const [url] = await once(child, 'message');
  return {
    url: z.url().parse(url),
    async cpuMicroseconds() {
      child.send('cpu');
      const [used] = await once(child, 'message');
      return z.number().parse(used);
    },
  };
}

async function fill(url: string): Promise<string> {
  const db = openDatabase({ url, poolSize: 1, statementTimeoutMs: 60_000, connectTimeoutMs: 5_000 });
  const now = new Date().toISOString();
  const rows = Array.from({ length: ROWS }, (_, n) => ({
    id: newId('ipp'),
    description: `policy ${n}`,
    metadata: '{"team":"platform"}',
    created_at: now,
    updated_at: now,
    revision: 1,
  }));
  const text = 'insert into ip_policies select * from jsonb_populate_recordset(null::ip_policies, $1::jsonb)';
  await db.query({ text, values: [JSON.stringify(rows)] });
  await db.query({ text: 'analyze', values: [] });
  await db.close();
  return rows[ROWS / 2]?.id ?? '';
}

/** One round, in a process that does nothing else. */
async function load(order: LoadOrder): Promise<LoadResult> {
  const child = fork(join(import.meta.dirname, 'api-load.ts'));
  child.send(order);
  const [result] = await once(child, 'message');
  return loadResult.parse(result);
}

interface Round extends LoadResult {
  cpu: number;
}

/** Medians over the rounds: another program on the machine disturbs some of them. */
function summary(rounds: Round[]) {
  const failures = rounds.reduce((sum, round) => sum + round.failures, 0);
  if (failures > 0) throw new Error(`${failures} requests failed`);
  const median = (of: (round: Round) => number) => rounds.map(of).sort((a, b) => a - b)[rounds.length >> 1] ?? 0;
  return {
    rate: median(({ requests, seconds }) => requests / seconds),
    p99: median(({ p99 }) => p99),
    cpu: median(({ cpu, requests }) => cpu / requests),
  };
}

function row(name: string, results: ReturnType<typeof summary>[]): string {
  const cells = results.flatMap(({ rate, p99, cpu }) => [rate.toFixed(0), p99.toFixed(1), cpu.toFixed(0)]);
  const [ours, minimal] = results;
  const ratio = (ours?.rate ?? 0) / (minimal?.rate ?? 1);
  return `| ${[name, ...cells, ratio.toFixed(2)].join(' | ')} |`;
}
