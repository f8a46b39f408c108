/** Measures in turns, so that a temporary disturbance affects both servers; each goes first in half of the rounds. */
import { cpus } from 'node:os';
import type { LoadOrder } from './load-process.ts';
import type { LoadResult, Processes, Server } from './processes.ts';

export interface Measured {
  /** Requests per second, round by round. */
  rates: number[];
  /** Requests per second. */
  rate: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Processor time of the server, in microseconds for each request. */
  cpu: number;
  /** The same for the load, and for everything on this machine. */
  loadCpu: number;
  machineCpu: number;
}

export interface Turns {
  rounds: number;
  roundMs: number;
}

interface Round extends LoadResult {
  cpuUsed: number;
  machineCpuUsed: number;
}

/** A server and its requests. */
export interface Turn {
  server: Server;
  order: Omit<LoadOrder, 'url' | 'ms'>;
}

/** Medians over the rounds, for each server. */
export async function byTurns({ load }: Processes, sides: readonly Turn[], turns: Turns): Promise<Measured[]> {
  const { rounds, roundMs } = turns;
  const next = sides.map(({ order }) => order.from ?? 0);
  const run = async (index: number, { server, order }: Turn, ms: number): Promise<Round> => {
    const before = await server.cpu();
    const machineBefore = machineCpu();
    const result = await load({ ...order, url: server.url, from: next[index] ?? 0, ms });
    next[index] = (next[index] ?? 0) + result.requests;
    const machineCpuUsed = machineCpu() - machineBefore;
    return { ...result, machineCpuUsed, cpuUsed: (await server.cpu()) - before };
  };
  for (const [index, side] of sides.entries()) await run(index, side, roundMs);
  const taken = sides.map(() => [] as Round[]);
  for (let round = 0; round < rounds; round++) {
    // Of two equal servers, the one that always went first wrote 5 % less.
    const turns = [...sides.entries()];
    for (const [index, side] of round % 2 === 0 ? turns : turns.toReversed())
      taken[index]?.push(await run(index, side, roundMs));
  }
  return taken.map((own) => {
    const rates = own.map(({ requests, seconds }) => requests / seconds);
    return {
      rates,
      rate: median(rates),
      p50: median(own.map(({ p50 }) => p50)),
      p99: median(own.map(({ p99 }) => p99)),
      cpu: median(own.map(({ cpuUsed, requests }) => cpuUsed / requests)),
      loadCpu: median(own.map(({ cpu, requests }) => cpu / requests)),
      machineCpu: median(own.map(({ machineCpuUsed, requests }) => machineCpuUsed / requests)),
    };
  });
}

/** Processor time used by this machine so far, in microseconds. */
function machineCpu(): number {
  return cpus().reduce(
    (sum, { times: { idle: _, ...busy } }) => sum + 1000 * Object.values(busy).reduce((a, b) => a + b),
    0,
  );
}

/** The median ratio of one side's rate to the other's in the same round. */
export function ratioOf({ rates }: Measured, other: Measured): number {
  return median(rates.map((rate, round) => rate / (other.rates[round] ?? rate)));
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = 0, high = 0] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return (low + high) / 2;
}
