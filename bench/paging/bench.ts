/** `npm run bench -- paging`: what a page costs with 10,000, 100,000 and 1,000,000 rows in its table. */
import pg from 'pg';
import { buffersOf, explain, statementsOf } from '../../dev/database/explain.ts';
import { idOfRow } from '../../dev/database/fill.ts';
import { fillShared, hotStatements } from '../../dev/database/hot-statements.ts';
import { repository } from '../../src/api/store/repository.ts';
import type { BenchOptions } from '../options.ts';
import type { Server } from '../processes.ts';
import { byTurns } from '../rounds.ts';
import { type Stage, startStage } from '../stage.ts';
import { tableHead, tableRow } from '../table.ts';
import { fillLists, type List, listsOf, makeOwners, metadataOf, pagesOf } from './lists.ts';

const SIZES = [10_000, 100_000, 1_000_000];
const LIMIT = 100;
const ROUNDS = 7;
const ROUND_MS = 300;
const each = (cells: readonly string[]) => cells.join(' / ');
const thousands = (rows: number) => rows.toLocaleString('en');

/** A database with that many rows in each table, the API on it, and a direct session. */
interface Sized {
  rows: number;
  server: Server;
  lists: List[];
  session: pg.Client;
}

/** Prints medians for one connection, the pages that the statements read, and their plans. Takes a few minutes. */
export async function benchPaging({ out, only = '', rounds = ROUNDS }: BenchOptions): Promise<void> {
  const stage = await startStage();
  const sizes: Sized[] = [];
  try {
    for (const rows of SIZES) sizes.push(await fill(stage, rows));
    out(`Paging: pages of ${LIMIT}, one connection, medians; buffers are pages of 8 KiB that PostgreSQL reads`);
    out('');
    out(
      `Each cell: with ${SIZES.map(thousands).join(' / ')} rows; growth is the ratio of the last median to the first`,
    );
    out('');
    out(tableHead(['list', 'page', 'median ms', 'growth', 'p99 ms', 'CPU µs', 'buffers']));
    const plans: string[] = [];
    for (const [index, { title }] of (sizes[0]?.lists ?? []).entries()) {
      if (!title.includes(only)) continue;
      for (const page of Object.keys(pagesOf(0))) {
        const { cells, plan } = await measure(stage, sizes, index, page, rounds);
        out(tableRow([title, page, ...cells]));
        if (page === 'middle') plans.push(`${title}, ${page} page`, ...plan, '');
      }
    }
    out('');
    out(`Plans with ${thousands(SIZES.at(-1) ?? 0)} rows, for any parameters`);
    out('');
    for (const line of plans) out(line === '' ? line : `    ${line}`);
    const largest = sizes.at(-1);
    if (largest) await shared(largest, out);
  } finally {
    for (const { session } of sizes) await session.end();
    await stage.stop();
  }
}

async function fill(stage: Stage, rows: number): Promise<Sized> {
  const url = await stage.copy(`rows_${rows}`);
  const server = await stage.processes.serve('api-process.ts', { BENCH_DATABASE_URL: url });
  const owners = await makeOwners(server.url);
  const session = new pg.Client({ connectionString: url });
  await session.connect();
  await fillLists((text) => session.query(text), owners, rows);
  return { rows, server, lists: listsOf(owners), session };
}

/** One page of one list at every size. */
async function measure({ processes }: Stage, sizes: readonly Sized[], index: number, page: string, rounds: number) {
  const reads = sizes.map(({ rows, server, lists, session }) => {
    const list = lists[index];
    if (!list) throw new Error('every size has the same lists');
    const row = pagesOf(rows)[page];
    const before = row === undefined ? undefined : idOfRow(list.family.prefix, row);
    const start = list.prefix === undefined || row === undefined ? undefined : metadataOf(row);
    const query = new URLSearchParams({
      limit: String(LIMIT),
      ...(list.prefix === undefined ? {} : { 'filter[metadata_prefix]': list.prefix }),
      ...(before === undefined ? {} : { before_id: before }),
      ...(start === undefined ? {} : { before_metadata: start }),
    });
    const path = `${list.path}?${query}`;
    return { list, before, start, server, session, order: { method: 'GET', path, key: list.key, connections: 1 } };
  });
  const measured = await byTurns(processes, reads, { roundMs: ROUND_MS, rounds });
  const plans: string[][] = [];
  for (const { list, before, start, session } of reads) {
    const prefix = list.prefix === undefined ? undefined : { column: 'metadata', value: list.prefix, before: start };
    const query = { before, limit: LIMIT, only: list.only, prefix };
    const [statement] = await statementsOf((db) => repository(list.family).page(db, query));
    plans.push(await explain((text) => session.query(text), statement, { plan: 'generic', analyze: true }));
  }
  const [smallest, largest] = [measured[0], measured.at(-1)];
  const cells = [
    each(measured.map(({ p50 }) => p50.toFixed(2))),
    ((largest?.p50 ?? 0) / (smallest?.p50 ?? 1)).toFixed(2),
    each(measured.map(({ p99 }) => p99.toFixed(1))),
    each(measured.map(({ cpu }) => cpu.toFixed(0))),
    each(plans.map((plan) => String(buffersOf(plan)))),
  ];
  return { cells, plan: plans.at(-1) ?? [] };
}

/** The statements of writes on the tables that all families share. */
async function shared({ rows, session }: Sized, out: BenchOptions['out']): Promise<void> {
  const query = (text: string) => session.query(text);
  await query('begin');
  await fillShared(query, rows);
  out(`Shared tables with ${thousands(rows)} rows each`);
  out('');
  out(tableHead(['statement', 'buffers', 'read by']));
  for (const [name, statement] of Object.entries(await hotStatements())) {
    await query('savepoint before');
    const plan = await explain(query, statement, { plan: statement.name ? 'generic' : 'custom', analyze: true });
    await query('rollback to before');
    const scans = plan.flatMap((line) => /(?:using|Bitmap Index Scan on|Seq Scan on) (\w+)/.exec(line)?.[1] ?? []);
    out(tableRow([name, String(buffersOf(plan)), [...new Set(scans)].join(', ')]));
  }
  out('');
  await query('rollback');
}
