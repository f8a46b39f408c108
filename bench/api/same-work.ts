/**
 * Checks that the comparison is fair: the same requests leave the same rows in both databases and get responses of
 * equal length.
 */
import type { LoadOrder } from '../load-process.ts';
import type { Processes, Server } from '../processes.ts';
import { runOnce } from '../stage.ts';
import { fillTemplate } from '../template.ts';

/** A server and its own database. */
export interface Side {
  server: Server;
  databaseUrl: string;
}

const REQUESTS = 10;
/** The fraction by which response lengths may differ: numbers may have more digits on one side. */
const LENGTH_TOLERANCE = 0.03;

/** Throws if the two sides do not do the same for the requests from `order.from` on. */
export async function requireSameWork(
  { load }: Processes,
  sides: readonly [Side, Side],
  order: Omit<LoadOrder, 'url' | 'ms'>,
  title: string,
): Promise<void> {
  const work = async ({ server: { url }, databaseUrl }: Side) => {
    const before = await rowCounts(databaseUrl);
    const length = await answerLength({ ...order, url });
    await load({ ...order, url, from: (order.from ?? 0) + 1, requests: REQUESTS, connections: 1, ms: 10_000 });
    const after = await rowCounts(databaseUrl);
    const added = [...after].flatMap(([table, count]) => {
      const more = count - (before.get(table) ?? 0);
      return more === 0 ? [] : [`${more} in ${table}`];
    });
    return { length, added: added.toSorted().join(', ') };
  };
  const [ours, minimal] = [await work(sides[0]), await work(sides[1])];
  if (ours.added !== minimal.added) {
    throw new Error(`${title}: the API added "${ours.added}" rows, the baseline "${minimal.added}"`);
  }
  if (Math.abs(ours.length / minimal.length - 1) > LENGTH_TOLERANCE) {
    throw new Error(`${title}: the response has ${ours.length} bytes, the baseline's ${minimal.length}`);
  }
}

async function rowCounts(url: string): Promise<Map<string, number>> {
  const tables = await runOnce(url, "select tablename from pg_tables where schemaname = 'public' order by 1");
  const counts = tables.map(({ tablename: name }) => `select '${name}' as name, count(*)::int as count from ${name}`);
  const rows = await runOnce(url, counts.join(' union all '));
  return new Map(rows.map(({ name, count }) => [String(name), Number(count)]));
}

async function answerLength(order: Omit<LoadOrder, 'ms'>): Promise<number> {
  const { url, method, path, body, key, lists = {}, from = 0 } = order;
  const response = await fetch(url + fillTemplate(path, from, lists), {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? null : fillTemplate(body, from, lists),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return text.length;
}
