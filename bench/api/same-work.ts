/** Checks that a comparison is fair: the same requests add the same rows on both sides, and responses are equally long. */
import type { LoadOrder } from '../load-process.ts';
import type { Processes, Server } from '../processes.ts';
import { runOnce } from '../stage.ts';

/** A server and its own database. */
export interface Side {
  server: Server;
  databaseUrl: string;
}

const REQUESTS = 10;
/** Fraction by which the lengths of responses may differ: the port in their addresses may have one more digit. */
const LENGTH_TOLERANCE = 0.03;

/** Throws if the sides handle the requests from `order.from` on differently. */
export async function requireSameWork(
  { load }: Processes,
  sides: readonly [Side, Side],
  order: Omit<LoadOrder, 'url' | 'ms'>,
  title: string,
): Promise<void> {
  const work = async ({ server: { url }, databaseUrl }: Side) => {
    const before = await rowCounts(databaseUrl);
    const { bytes, lastAnswer } = await load({ ...order, url, requests: REQUESTS, connections: 1, ms: 10_000 });
    const after = await rowCounts(databaseUrl);
    const added = [...after].flatMap(([table, count]) => {
      const more = count - (before.get(table) ?? 0);
      return more === 0 ? [] : [`${more} in ${table}`];
    });
    return { bytes, lastAnswer, added: added.toSorted().join(', ') };
  };
  const [ours, minimal] = [await work(sides[0]), await work(sides[1])];
  if (ours.added !== minimal.added) {
    throw new Error(`${title}: this API added rows "${ours.added}", the rival "${minimal.added}"`);
  }
  if (Math.abs(ours.bytes / minimal.bytes - 1) > LENGTH_TOLERANCE) {
    throw new Error(
      `${title}: ${REQUESTS} answers have ${ours.bytes} bytes, and the rival's ${minimal.bytes}:\n${beginningOf(ours)}\n${beginningOf(minimal)}`,
    );
  }
}

const beginningOf = ({ lastAnswer }: { lastAnswer: string }) => lastAnswer.slice(0, 1_000);

async function rowCounts(url: string): Promise<Map<string, number>> {
  const tables = await runOnce(url, "select tablename from pg_tables where schemaname = 'public' order by 1");
  const counts = tables.map(({ tablename: name }) => `select '${name}' as name, count(*)::int as count from ${name}`);
  const rows = await runOnce(url, counts.join(' union all '));
  return new Map(rows.map(({ name, count }) => [String(name), Number(count)]));
}
