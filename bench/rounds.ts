/** Measuring by turns: what disturbs one server for a while disturbs its rival, too. */
import type { LoadOrder } from './load-process.ts';
import type { LoadResult, Processes, Server } from './processes.ts';

export interface Measured {
  /** Requests per second. */
  rate: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Processor time of the server, in microseconds for each request. */
  cpu: number;
}

export interface Turns {
  warmUpMs: number;
  rounds: number;
  roundMs: number;
}

interface Round extends LoadResult {
  cpuUsed: number;
}

/**
 * Medians over the rounds for each server, and those of the rate of the first against each other's in the same round.
 * @param number gives the number of each server's next request
 */
export async function byTurns(
  { load }: Processes,
  servers: readonly Server[],
  order: Omit<LoadOrder, 'url' | 'ms'>,
  { warmUpMs, rounds, roundMs }: Turns,
): Promise<{ measured: Measured[]; ratio: number }> {
  const next = servers.map(() => order.from ?? 0);
  const run = async (index: number, ms: number): Promise<Round> => {
    const server = servers[index];
    if (!server) throw new Error('there is no such server');
    const before = await server.cpu();
    const result = await load({ ...order, url: server.url, from: next[index] ?? 0, ms });
    next[index] = (next[index] ?? 0) + result.requests;
    return { ...result, cpuUsed: (await server.cpu()) - before };
  };
  for (const index of servers.keys()) await run(index, warmUpMs);
  const taken = servers.map(() => [] as Round[]);
  for (let round = 0; round < rounds; round++) {
    for (const index of servers.keys()) taken[index]?.push(await run(index, roundMs));
  }
  const rate = ({ requests, seconds }: Round) => requests / seconds;
  const [first = [], second = []] = taken;
  const ratios = second.map((rival, index) => rate(first[index] ?? rival) / rate(rival));
  const measured = taken.map((own) => ({
    rate: median(own.map(rate)),
    p50: median(own.map(({ p50 }) => p50)),
    p99: median(own.map(({ p99 }) => p99)),
    cpu: median(own.map(({ cpuUsed, requests }) => cpuUsed / requests)),
  }));
  return { measured, ratio: median(ratios) };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = 0, high = 0] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return (low + high) / 2;
}
