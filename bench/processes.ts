/** Servers under measurement and the load on them, each in a process of its own that ends with this one. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { z } from 'zod';
import type { LoadOrder } from './load-process.ts';

export interface Server {
  url: string;
  /** Processor time used so far, in microseconds. */
  cpu(): Promise<number>;
  /** Asks for another figure about the process. */
  ask<T>(question: string, answer: z.ZodType<T>): Promise<T>;
}

const loadResult = z.object({
  requests: z.number(),
  /** Of the bodies of all responses. */
  bytes: z.number(),
  /** The body of the last of `requests`; empty when the load ended by time. */
  lastAnswer: z.string(),
  seconds: z.number(),
  /** Latencies in milliseconds. */
  p50: z.number(),
  p99: z.number(),
  /** Processor time of the load, in microseconds. */
  cpu: z.number(),
  failures: z.number(),
  /** The first unsuccessful response. */
  failure: z.string().nullable(),
});

export type LoadResult = z.output<typeof loadResult>;

export interface Processes {
  /** Starts a server, a file of this folder, that reports its address first; it ends on SIGTERM. */
  serve(file: string, env: Record<string, string>, execArgv?: string[]): Promise<Server>;
  /** Runs load in a process that does nothing else. Throws when a request fails. */
  load(order: LoadOrder): Promise<LoadResult>;
  stop(): Promise<void>;
}

export function startProcesses(): Processes {
  const children: ChildProcess[] = [];
  const start = (file: string, env: Record<string, string> = {}, execArgv: string[] = []) => {
    const child = fork(resolve(import.meta.dirname, file), {
      env: { ...process.env, NODE_ENV: 'production', ...env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv,
    });
    children.push(child);
    return child;
  };
  let loader: ChildProcess | undefined;
  return {
    async serve(file, env, execArgv) {
      const child = start(file, env, execArgv);
      const url = z.url().parse(await answerOf(child));
      const ask = async <T>(question: string, answer: z.ZodType<T>): Promise<T> => {
        child.send(question);
        return answer.parse(await answerOf(child));
      };
      return { url, ask, cpu: () => ask('cpu', z.number()) };
    },
    async load(order) {
      loader ??= start('load-process.ts');
      loader.send(order);
      const result = loadResult.parse(await answerOf(loader));
      const { failures, failure } = result;
      if (failures > 0) throw new Error(`${failures} of ${order.method} ${order.path} failed, as in: ${failure}`);
      return result;
    },
    async stop() {
      // Stop clients before servers.
      for (const child of children.toReversed()) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        child.kill('SIGTERM');
        await once(child, 'exit');
      }
    },
  };
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const listening = new AbortController();
  const { signal } = listening;
  try {
    const [answer] = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`${child.spawnargs.at(-1)} ended with ${code}`);
      }),
    ]);
    return answer;
  } finally {
    listening.abort();
  }
}
